"""The parser process: untrusted input is opened in a process of its own and nowhere else (design 3, libs/common).

`pool` and `processes` are the side of the service, `fork_server` and `child` the processes that read, `confinement` and
`limits` what those may not do, `messages` the bytes between the two, `contents` the files that are taken out of one. A
reader is a plain function `read_kind(file, arguments) -> JSON`, or one that yields `(JSON, chunks)` for each content of
the file; it is named as "module:function".

The pool is imported from its module: a reader imports what is named here, and the service's side has no place in a
process that reads.
"""

from mailroom_common.parser.confinement import ParserUnconfined
from mailroom_common.parser.limits import ParserLimits
from mailroom_common.parser.messages import JSON, ParserCrashed, ParserLimitReached, UnreadableFile

__all__ = [
    "JSON",
    "ParserCrashed",
    "ParserLimitReached",
    "ParserLimits",
    "ParserUnconfined",
    "UnreadableFile",
]

"""The parser process: untrusted input is opened in a child process and nowhere else (design 3, libs/common).

`pool` is the side of the service, `child` the process that reads, `confinement` and `limits` what that process may not
do, `messages` the bytes between the two. A reader is a plain function `read_kind(file, arguments) -> JSON`, named as
"module:function".
"""

from mailroom_common.parser.confinement import ParserUnconfined
from mailroom_common.parser.limits import ParserLimits
from mailroom_common.parser.messages import JSON, ParserCrashed, ParserLimitReached, UnreadableFile
from mailroom_common.parser.pool import ParserPool

__all__ = [
    "JSON",
    "ParserCrashed",
    "ParserLimitReached",
    "ParserLimits",
    "ParserPool",
    "ParserUnconfined",
    "UnreadableFile",
]

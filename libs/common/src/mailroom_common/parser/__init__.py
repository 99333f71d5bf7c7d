"""The parser process: whatever strangers wrote is opened in here and nowhere else (design 3, libs/common).

`pool` is the side of the service, `child` the process that reads, `confinement` what that process may not do, `frames`
the bytes between the two. A reader is a plain function `read(file, arguments) -> JSON` named "module:function".
"""

from mailroom_common.parser.errors import ParserCrashed, ParserLimit, Unreadable
from mailroom_common.parser.frames import JSON
from mailroom_common.parser.limits import Limits
from mailroom_common.parser.pool import ParserPool

__all__ = ["JSON", "Limits", "ParserCrashed", "ParserLimit", "ParserPool", "Unreadable"]

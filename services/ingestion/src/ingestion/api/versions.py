"""The version of what a person decides about, which they name as `If-Match`."""

import re

from mailroom_common.web import HTTPProblem

_ETAG = re.compile(r'(?:W/)?"?(\d{1,9})"?')


def parse_version(if_match: str | None) -> int:
    """Two people who look at one thing must not overwrite each other unseen: so the version is asked for always.

    Raises:
        HTTPProblem: 428 without one, 400 for what is none.
    """
    if if_match is None:
        raise HTTPProblem(428, "If-Match is needed", "Send the `version` that you saw as the header If-Match.")
    match = _ETAG.fullmatch(if_match.strip())
    if match is None:
        raise HTTPProblem(400, "If-Match is wrong", 'One version is needed, as in `If-Match: "3"`.')
    return int(match[1])

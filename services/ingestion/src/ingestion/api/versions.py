"""The version of what a person decides about, which they name as `If-Match`, and the answers to a decision."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ingestion.domain.review import ReviewRefused
from ingestion.ports.reviews import StaleVersion
from ingestion.ports.trades import TradeDecisionRefused
from mailroom_common.web import HTTPProblem

_ETAG = re.compile(r'(?:W/)?"?(\d{1,9})"?')


def parse_version(if_match: str | None) -> int:
    """Two people who decide about one thing must not overwrite each other: so the version is always required.

    Raises:
        HTTPProblem: 428 without one, 400 for what is none.
    """
    if if_match is None:
        raise HTTPProblem(428, "If-Match is needed", "Send the `version` that you saw as the header If-Match.")
    match = _ETAG.fullmatch(if_match.strip())
    if match is None:
        raise HTTPProblem(400, "If-Match is wrong", 'One version is needed, as in `If-Match: "3"`.')
    return int(match[1])


@contextmanager
def answer_refused_decision(noun: str, refusal: str) -> Iterator[None]:
    """`noun` names what is decided about, `refusal` is the title of the answer to a decision that makes no sense.

    Raises:
        HTTPProblem: 412 where it has changed since the person looked, 409 for a refused decision.
    """
    try:
        yield
    except StaleVersion as error:
        raise HTTPProblem(
            412,
            f"The {noun} was changed since you looked",
            "Read it again and decide on what it says now.",
            version=error.version,
        ) from error
    except (ReviewRefused, TradeDecisionRefused) as error:
        raise HTTPProblem(409, refusal, str(error)) from error

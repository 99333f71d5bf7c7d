"""The password of a locked document: given once, used by the next reading, and forgotten with it (ADR 72)."""

from dataclasses import dataclass, field
from datetime import timedelta

from ingestion.domain.reasons import Reason, ReviewReason

MAX_PASSWORD_CHARACTERS = 200
# A person who knows the password needs one or two; a program that tries words gets nowhere.
MAX_PER_DOCUMENT = 10
MAX_PER_TENANT = 100
LIMIT_PERIOD = timedelta(hours=1)
# Of a document that no worker reads meanwhile.
MAX_PASSWORD_AGE = timedelta(days=1)

_LOCKED = frozenset({ReviewReason.PASSWORD_REQUIRED, ReviewReason.PASSWORD_WRONG})


@dataclass(frozen=True, slots=True)
class GivenPassword:
    """`text` is in no representation of this object: a log line or a traceback may show one. None: it could not be
    opened."""

    password_id: int
    text: str | None = field(repr=False)


class NoPasswordNeeded(Exception):
    """The document is not locked, or not read yet; the message says which."""


class TooManyPasswords(Exception):
    """For this document, or of this tenant, within `LIMIT_PERIOD`."""


def is_locked(reason: Reason | None) -> bool:
    """Whether this is the reason of a document of which nothing could be read without its password."""
    return reason in _LOCKED

"""The errors of Mailroom, named for what the caller does next.

MailroomError
├── Retryable               the same call may succeed later; wait `retry_after_s` if it is known
│   ├── Throttled           the provider asked for patience
│   ├── ProviderUnavailable 5xx, a broken connection, a time-out: the provider's trouble
│   └── Unavailable         Kafka, Postgres or the blob store did not answer in time
├── Rejected                no retry can help this record, file or request: dead-letter or answer 4xx
│   ├── Undecodable         bytes that are not what they claim to be
│   └── ItemGone            the provider no longer has this message or part: done, not an error to repeat
├── ActionRequired             the connection rests until somebody acts at the provider
│   ├── TokenRefused        the grant is dead: consent again
│   ├── AccessDenied        the scope, the policy or the administrator says no
│   └── MailboxGone         the account has no mailbox any more
├── CursorRefused           the provider dropped this position: begin the same path from nothing
├── PageTokenRefused        a round cannot go on from its page token: fall back to the position first
├── UnknownSchema           the `schemas` topic does not explain this fingerprint yet: stop the partition, lose nothing
└── Fatal                   stop the process with this sentence; a supervisor starts it again or a person mends it
    └── SettingsError       a setting is missing or wrong, named in the sentence
"""


class MailroomError(Exception):
    """Carries ids and never contents: its text may be logged."""


class Retryable(MailroomError):
    """`retry_after_s` is the provider's own word in seconds, None when it said nothing."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Throttled(Retryable):
    pass


class ProviderUnavailable(Retryable):
    pass


class Unavailable(Retryable):
    pass


class Rejected(MailroomError):
    pass


class Undecodable(Rejected):
    pass


class ItemGone(Rejected):
    pass


class ActionRequired(MailroomError):
    pass


class TokenRefused(ActionRequired):
    """`grant_generation` says which grant was refused: an older one does not condemn a newer."""

    def __init__(self, message: str, *, grant_generation: int) -> None:
        super().__init__(message)
        self.grant_generation = grant_generation


class AccessDenied(ActionRequired):
    pass


class MailboxGone(ActionRequired):
    pass


class CursorRefused(MailroomError):
    pass


class PageTokenRefused(MailroomError):
    pass


class UnknownSchema(MailroomError):
    def __init__(self, fingerprint: bytes) -> None:
        super().__init__(f"schema fingerprint {fingerprint.hex()} is not in the schemas topic yet")
        self.fingerprint = fingerprint


class Fatal(MailroomError):
    pass


class SettingsError(Fatal):
    pass

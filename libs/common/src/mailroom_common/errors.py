"""The errors of Mailroom, named for what the caller does next.

MailroomError
├── Retryable               the same call may succeed later; wait `retry_after_s` if it is known
│   ├── Throttled           the provider limits the rate of our calls
│   │   └── CallDeferred    a budget, an earlier pause or the token endpoint kept us from calling at all
│   │       └── OldMailCallDeferred   the share of a budget that old mail may have is spent
│   ├── ProviderUnavailable 5xx, a broken connection or a time-out of the provider
│   └── Unavailable         Kafka, Postgres or the blob store did not answer in time
├── Rejected                no retry can help this record, file or request: dead-letter or answer 4xx
│   ├── Undecodable         bytes that are not what they claim to be
│   └── ItemGone            the provider no longer has this message or part: nothing is left to do
├── ActionRequired             the mailbox connection stops until somebody acts at the provider
│   ├── TokenRefused        the grant is dead: consent again
│   ├── AccessDenied        the scope, the policy or the administrator says no
│   │   └── PermissionMissing   to what the call was for, whichever folder or item it was made for
│   └── MailboxGone         the account has no mailbox any more
├── CursorRefused           the provider no longer knows this position: sync from nothing
├── PageTokenRefused        a listing cannot go on from its page token: begin it again from its cursor
├── NotDecodableYet         a record of a newer build: its partition waits
│   ├── UnknownSchema       for the `schemas` topic, which does not have this fingerprint yet
│   └── UnknownSymbol       for this service to be upgraded: the record has an enum symbol that this build lacks
└── Fatal                   the process ends with this sentence; a supervisor restarts it, or an operator has to act
    └── SettingsError       a setting is missing or wrong, named in the sentence
"""


class MailroomError(Exception):
    """The base of all. Its text has ids and never contents: it may be logged."""


class Retryable(MailroomError):
    """`retry_after_s` is how many seconds the provider asked us to wait, None when it did not say."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Throttled(Retryable):
    pass


class CallDeferred(Throttled):
    """It says nothing of the message at hand."""


class OldMailCallDeferred(CallDeferred):
    """Calls for new mail are made all the same."""


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
    """`grant_generation` says which grant was refused: a refusal of an older one does not affect a newer one."""

    def __init__(self, message: str, *, grant_generation: int) -> None:
        super().__init__(message)
        self.grant_generation = grant_generation


class AccessDenied(ActionRequired):
    pass


class PermissionMissing(AccessDenied):
    pass


class MailboxGone(ActionRequired):
    pass


class CursorRefused(MailroomError):
    pass


class PageTokenRefused(MailroomError):
    pass


class NotDecodableYet(MailroomError):
    pass


class UnknownSchema(NotDecodableYet):
    def __init__(self, fingerprint: bytes) -> None:
        super().__init__(f"schema fingerprint {fingerprint.hex()} is not in the schemas topic yet")
        self.fingerprint = fingerprint


class UnknownSymbol(NotDecodableYet):
    """Of an enum that has no harmless reading for what it does not know."""

    def __init__(self, enum_name: str) -> None:
        super().__init__(f"a newer build wrote a symbol of {enum_name} that this build does not have")
        self.enum_name = enum_name


class Fatal(MailroomError):
    pass


class SettingsError(Fatal):
    """`mistakes` has one sentence for each variable; together they are the text."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__(" ".join(mistakes))
        self.mistakes = mistakes

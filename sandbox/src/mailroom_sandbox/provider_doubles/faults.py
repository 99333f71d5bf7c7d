"""Every fault that the providers can play, in one place.

A fault is a class here: its fields are the switch's parameters, its docstring is the help. Whoever plays it asks the
switchboard (`fault_switchboard.py`). To add one, write the class, list it in `FAULTS`, ask for it where it has an
effect, and give it a line in the README.
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

FaultStatus = Literal[404, 429, 500, 502, 503, 504]


def _wrap_single_word(value: object) -> object:
    """On the command line a single word stands for a list of one."""
    return (value,) if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_wrap_single_word)]


class Fault(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    name: ClassVar[str]

    times: int | None = Field(default=None, ge=1, description="Strikes so often, then ends by itself.")

    def chance_of_strike(self) -> float:
        return 1.0


class RandomFault(Fault):
    share: float = Field(default=1.0, gt=0, le=1, description="Share of the calls or pushes concerned, at random.")

    def chance_of_strike(self) -> float:
        return self.share


class ItemFault(Fault):
    items: Texts = Field(default=(), description="Subjects or message ids; every message when empty.")

    def concerns(self, names: Iterable[str]) -> bool:
        return not self.items or not set(self.items).isdisjoint(names)


class Notifications(RandomFault):
    """Notifications are lost (`off`), duplicated, delayed, reordered, or posted with other mailboxes' (`mixed`)."""

    name: ClassVar[str] = "notifications"
    mode: Literal["off", "duplicated", "delayed", "reordered", "mixed"] = "off"
    copies: int = Field(default=2, ge=2, le=50, description="With `duplicated`: how many posts for one change.")
    delay_s: float = Field(
        default=5.0,
        gt=0,
        description="`delayed`: each waits so long; `reordered`: at random up to so long; `mixed`: for the next moment"
        " that is a multiple of it, which all mailboxes share.",
    )

    def plan_posts(self, now_s: float, chance: float) -> list[float]:
        """After how many seconds each post of one change is due; `chance` is from 0 to 1."""
        match self.mode:
            case "off":
                return []
            case "duplicated":
                return [0.0] * self.copies
            case "delayed":
                return [self.delay_s]
            case "reordered":
                return [self.delay_s * chance]
            case "mixed":
                return [self.delay_s - now_s % self.delay_s]


class Handshake(Fault):
    """Graph's handshake with a webhook comes late (`slow`), or is taken for failed (`refused`)."""

    name: ClassVar[str] = "handshake"
    mode: Literal["slow", "refused"] = "refused"
    delay_s: float = Field(default=5.0, ge=0, description="With `slow`: so long after the create was asked for.")


class EarlyAnnouncement(Fault):
    """Graph announces a change of a new subscription before it has answered the create, which takes `delay_s` more."""

    name: ClassVar[str] = "early_announcement"
    delay_s: float = Field(default=2.0, ge=0)


class SubscriptionLimits(Fault):
    """Subscriptions and watches are granted for less time than was asked for."""

    name: ClassVar[str] = "subscription_limits"
    granted_s: float = Field(default=60.0, gt=0)


class WatchFault(Fault):
    """No subscription and no watch is to be had (`refused`), or Gmail's answer has no expiration (`no_expiration`)."""

    name: ClassVar[str] = "watch"
    mode: Literal["refused", "no_expiration"] = "refused"
    status: Literal[403, 503] = 403


class RefreshFault(Fault):
    """Outlook's refresh tokens die with their use (`rotates`), or one in parallel use is refused."""

    name: ClassVar[str] = "refresh"
    mode: Literal["rotates", "refused_in_parallel"] = "refused_in_parallel"
    within_s: float = Field(default=2.0, gt=0, description="Uses of one token within so long are parallel.")


class GmailQuota(RandomFault):
    """Gmail refuses calls for quota in one of the three shapes that it has."""

    name: ClassVar[str] = "gmail_quota"
    shape: Literal["429_rateLimitExceeded", "403_userRateLimitExceeded", "403_dailyLimitExceeded"] = (
        "403_userRateLimitExceeded"
    )


class NestedMail(Fault):
    """Gmail shows nested mails by their parts alone: no bytes are to be had of the mail itself."""

    name: ClassVar[str] = "nested_mail"


class DeltaLag(Fault):
    """Delta queries (not lists) and Gmail's history show a change only after so many seconds."""

    name: ClassVar[str] = "delta_lag"
    lag_s: float = Field(default=5.0, ge=0)


class DeltaShape(Fault):
    """Delta rounds and Gmail's history replay changes, repeat items, have empty pages, or leave moves out."""

    name: ClassVar[str] = "delta_shape"
    replayed_changes: int = Field(default=0, ge=0, description="A round begins so many changes before its cursor.")
    repeat_items: bool = Field(default=False, description="Each item stands twice on its page.")
    empty_pages: int = Field(default=0, ge=0, le=10, description="So many pages without items before each other one.")
    lose_moves: bool = Field(
        default=False, description="Outlook: a message that was moved here is left out of the changes; lists show it."
    )


class CursorRefusedFault(Fault):
    """Graph answers 410 and Gmail 404 to a stored position (`start`), or to the page token of a round (`middle`)."""

    name: ClassVar[str] = "cursor_refused"
    where: Literal["start", "middle"] = "start"
    times: int | None = Field(default=1, ge=1, description="Refuses so often; null refuses until cleared.")


class UnavailableFault(RandomFault):
    """Calls fail with a status of the provider's choice; `retry_after` is sent as it is, also decimal, or left out."""

    name: ClassVar[str] = "unavailable"
    status: Literal[429, 500, 502, 503, 504] = 503
    retry_after: str | None = "1.5"
    path: str | None = Field(default=None, description="Only calls with this text in their path.")

    def concerns(self, path: str) -> bool:
        return self.path is None or self.path.lower() in path.lower()


class ItemFails(ItemFault):
    """One message always fails: calls that read it (or a page that holds it) fail, and everything beside it works."""

    name: ClassVar[str] = "item_fails"
    where: Annotated[tuple[Literal["message", "part", "list", "delta"], ...], BeforeValidator(_wrap_single_word)] = (
        Field(
            default=("message", "part"),
            description="`list` and `delta` (Gmail: history) fail when their page holds it.",
        )
    )
    status: FaultStatus = 500
    retry_after: str | None = None
    parts: Texts = Field(default=(), description="With `part`: names of the files that fail; each when empty.")
    break_after_bytes: int | None = Field(
        default=None, ge=0, description="With `part`: 200, and the connection breaks after so many bytes."
    )

    def concerns_part(self, filename: str | None) -> bool:
        return "part" in self.where and (not self.parts or filename in self.parts)


class MessageDelayed(ItemFault):
    """New mail is announced and readable only later, or announced and gone at once for good (`gone`)."""

    name: ClassVar[str] = "message_delayed"
    mode: Literal["later", "gone"] = "later"
    after_s: float = Field(default=5.0, ge=0, description="With `later`: reads answer 404 so long after its arrival.")
    is_listed: bool = Field(default=True, description="With `later`: lists, deltas and history show it all the same.")


class AccessDeniedFault(ItemFault):
    """Reads of messages and of their parts answer 403, while lists, deltas and history go on answering."""

    name: ClassVar[str] = "access_denied"


class OddBytes(Fault):
    """Answers that hold `text` are not quite JSON: odd bytes stand behind it, or a byte-order mark before all."""

    name: ClassVar[str] = "odd_bytes"
    kind: Literal["lone_surrogate", "bad_utf8", "control", "bom"] = "lone_surrogate"
    text: str = Field(min_length=1, description="The subject of a mail, for example.")


class ExactQuotas(Fault):
    """The providers' own quotas hold, in sliding windows: Gmail's units by user and project, Graph's calls."""

    name: ClassVar[str] = "exact_quotas"
    gmail_user_units: int = Field(default=6_000, ge=1, description="Of one user in `gmail_window_s`.")
    gmail_project_units: int = Field(default=1_200_000, ge=1, description="Of all users in `gmail_window_s`.")
    gmail_window_s: float = Field(default=60.0, gt=0)
    graph_calls: int = Field(default=10_000, ge=1, description="Of one mailbox in `graph_window_s`; refused ones too.")
    graph_window_s: float = Field(default=600.0, gt=0)


FAULTS: dict[str, type[Fault]] = {
    fault.name: fault
    for fault in (
        Notifications,
        Handshake,
        EarlyAnnouncement,
        SubscriptionLimits,
        WatchFault,
        RefreshFault,
        DeltaLag,
        DeltaShape,
        CursorRefusedFault,
        UnavailableFault,
        ItemFails,
        MessageDelayed,
        AccessDeniedFault,
        OddBytes,
        NestedMail,
        GmailQuota,
        ExactQuotas,
    )
}

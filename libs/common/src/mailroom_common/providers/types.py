"""Mailboxes, messages, subscriptions and grants in Mailroom's own terms, the same for every provider."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mailroom_common.events import Access, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailbox:
    """Whom a call is for: one doc source's mailbox and the generation of the grant that opens it."""

    doc_source_id: str
    provider: str
    access: Access
    profile: Profile
    address: str
    provider_user_id: str | None = None
    provider_tenant: str | None = None
    grant_generation: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """Who consented: `user_id` is stable for the account, `address` its primary address as the provider knows it.

    `verified_addresses`: those of its names of which the provider itself vouches that they are this account's. Nothing
    else is compared with the address that a doc source names: others may have been entered by whoever has the account.
    """

    user_id: str
    address: str
    aliases: tuple[str, ...] = ()
    tenant: str | None = None
    verified_addresses: tuple[str, ...] = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Subscription:
    """Our expiring registration at the provider.

    `doc_source_id` is the doc source that the client state names, None where the provider does not repeat the client
    state: doc sources of one mailbox see each other's subscriptions in a list.
    """

    subscription_id: str
    resource: str
    expires_at: datetime
    notification_url: str | None = None
    lifecycle_url: str | None = None
    history_id: str | None = None
    doc_source_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRequest:
    """What a new subscription is to be. `client_state` is a secret that the provider repeats in each notification."""

    client_state: str = field(repr=False)
    notification_url: str
    lifecycle_url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, or a label where the provider has labels.

    `path` is display names joined by `/` from the mailbox root; `well_known` is the provider's own fixed name (`inbox`,
    `CATEGORY_PROMOTIONS`), whatever the mailbox's language calls it.
    """

    folder_id: str
    path: str
    well_known: str | None = None


class FollowUpFlag(StrEnum):
    """What the mailbox's user marked a mail with."""

    NOT_FLAGGED = "not_flagged"  # no mark, or it was taken away
    FLAGGED = "flagged"  # to be followed up (Outlook), or starred (Gmail)
    COMPLETE = "complete"  # followed up; Gmail has no such mark


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSummary:
    """What a list or a delta says of a message. A member that the provider left out is None: unknown, not empty.

    `labels` are Gmail's label ids; `folder_id` is Graph's. `version` changes with each change of the item (etag or
    history id). `received_at` and `modified_at` are the provider's clock.
    """

    message_id: str
    folder_id: str | None = None
    labels: frozenset[str] = frozenset()
    received_at: datetime | None = None
    modified_at: datetime | None = None
    internet_message_id: str | None = None
    conversation_id: str | None = None
    subject: str | None = None
    sender_address: str | None = None
    sender_name: str | None = None
    is_read: bool | None = None
    is_draft: bool | None = None
    importance: str | None = None
    flag: FollowUpFlag | None = None
    has_attachments: bool | None = None
    categories: tuple[str, ...] = ()
    version: str | None = None
    headers: dict[str, str] | None = field(default=None, hash=False)  # lower-case names; only those a filter needs
    parts: "tuple[Part, ...] | None" = None  # None: the list did not tell them


class ChangeKind(StrEnum):
    PRESENT = "present"  # created, changed, or replayed: which of them, only our own records can tell
    REMOVED = "removed"  # left this folder or the mailbox: confirm before believing it


@dataclass(frozen=True, slots=True)
class LabelChanges:
    """Which labels a page tells to have been put on a message, and taken off it, by all its changes together."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """`summary` is None where the provider gave only an id (Gmail's history): fetch the message to know more.

    `revision` is set where no summary has a version: a later change of the same message has another one.
    `received_before` is all that is known of a message that only a list of ids shows, and asking for more would cost a
    call: it is older than that.
    `label_changes` is set where it is known that nothing else changed: None of a message that may be new.
    """

    kind: ChangeKind
    message_id: str
    summary: MessageSummary | None = None
    revision: str | None = None
    label_changes: LabelChanges | None = None
    received_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChangePage:
    """One page of a round. Exactly one of `page_token` (the round goes on) and `position` (it ended) is set.

    `needs_relist`: the position starts at now, and what the mailbox already holds has to be listed beside it (Gmail);
    where a round from nothing lists everything by itself (Graph) it is False.
    """

    changes: tuple[Change, ...]
    page_token: str | None = None
    position: str | None = None
    needs_relist: bool = False


@dataclass(frozen=True, slots=True)
class SummaryPage:
    """One page of a list by value: `resume_after` is the greatest time seen, of the kind that the list is in order of;
    None at the end of the list."""

    summaries: tuple[MessageSummary, ...]
    resume_after: datetime | None = None


class PartKind(StrEnum):
    FILE = "file"  # an attached file, or an inline one
    MESSAGE = "message"  # a mail, event or contact attached as an item
    LINK = "link"  # a cloud link: there are no bytes to fetch
    UNAVAILABLE = "unavailable"  # shown in a form that names no way to its bytes
    OMITTED = "omitted"  # no part itself: it stands for all that a mail has beyond the first 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One attached part. `handle` is the provider's own way to its bytes, good only right after the fetch.

    `is_inline`: meant to be shown in the body. Graph says so itself; on Gmail it is a disposition of `inline`, or a
    part of `multipart/related` that has a Content-ID and no disposition. `disposition` is the mail's own word in lower
    case, None where it has none or the provider does not tell (Graph). `is_within_source`: an attached mail of which
    the provider has no bytes in one piece. What is opened for it is the source of the whole mail, in whose tree
    `part_path` is its place.
    """

    part_path: str
    kind: PartKind
    filename: str | None
    content_type: str | None
    size_bytes: int | None = None
    is_inline: bool = False
    content_id: str | None = None
    disposition: str | None = None
    is_within_source: bool = False
    handle: str | bytes | None = field(default=None, repr=False)


OMITTED_PARTS = Part(part_path="(further parts)", kind=PartKind.OMITTED, filename=None, content_type=None)


@dataclass(frozen=True, slots=True)
class Message:
    """A message with its parts. `html_body` is None when it was neither asked for nor came along, empty when the mail
    has none."""

    summary: MessageSummary
    parts: tuple[Part, ...]
    html_body: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """What an exchanged code gave. `expires_at` is our clock. The tokens are secrets: never in a log."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(repr=False)
    expires_at: datetime
    scopes: frozenset[str]
    id_claims: dict[str, object] = field(default_factory=dict, repr=False, hash=False)

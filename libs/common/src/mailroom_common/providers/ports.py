"""What Mailroom asks of a mail provider: one port per consumer, and the traits by which providers differ.

Every call may raise `Throttled`, `ProviderUnavailable`, `TokenRefused`, `AccessDenied` or `MailboxGone` of
`mailroom_common.errors`; what else a call raises stands at it. Parameters before a `/` are positional, so that an
implementation that has no use for one may say so in its name (`_start_at`).
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

import httpx

from mailroom_common.budgets.allocations import Budgets
from mailroom_common.events import Access, Profile
from mailroom_common.providers.types import (
    Account,
    ChangePage,
    Folder,
    Grant,
    Mailbox,
    Message,
    MessageSummary,
    Part,
    Subscription,
    SubscriptionRequest,
    SummaryPage,
)
from mailroom_common.settings import TLSSettings

# The scopes of the two cursors of a mailbox with ChangeListing.MAILBOX_HISTORY.
HISTORY_SCOPE = "history"
RELIST_SCOPE = "relist"


class ChangeListing(StrEnum):
    """How a provider lists changes.

    FOLDER_DELTAS: a cursor per folder, whose id is the cursor's scope, and a mailbox-wide list of what was modified.
    MAILBOX_HISTORY: one cursor of the mailbox, of scope `history`, which starts at now; the mails that were there
    before are listed by a cursor of scope `relist`.
    """

    FOLDER_DELTAS = "folder_deltas"
    MAILBOX_HISTORY = "mailbox_history"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTraits:
    subscription_lifetime: timedelta  # asked for at create and renew
    renewal_interval: timedelta | None  # None: shortly before it expires
    min_renewal_gap: timedelta  # between two renewals of one subscription
    is_shared_by_account: bool  # one subscription for all doc sources of the account, instead of one for each
    has_notification_url: bool  # the provider tells which URL it calls, so that a wrong one is recreated
    can_look_up: bool  # `get_subscription` and `list_subscriptions` can tell what exists


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTraits:
    """What differs by provider, so that services ask for a trait and never for a name."""

    name: str  # on the wire, in URLs, columns and metrics
    display_name: str
    archive_source: str  # object metadata of the archive
    change_listing: ChangeListing
    uses_labels: bool  # a message has any number of labels, instead of lying in one folder
    is_removal_final: bool  # a removed message is gone for good, instead of having to be confirmed by its id
    versions_follow_content: bool  # its parts may be replaced under a message's id, and its version changes with them
    reports_inline_parts: bool  # `has_attachments` counts inline parts; False: it is false for a mail with no others
    application_access_needs_tenant: bool
    revocation_ends_account: bool  # a revoke ends every grant of the account with us
    push: PushTraits | None  # None: polling only; no subscription is ever created, the backstop finds the mail
    # What two spellings of one mailbox's address have in common; by default only their case may differ.
    normalize_address: Callable[[str], str] = str.lower


class FolderLister(Protocol):
    async def list_folders(self, mailbox: Mailbox) -> Sequence[Folder]:
        """All folders of the mailbox, hidden ones too, or all its labels."""
        ...


class MailReader(FolderLister, Protocol):
    """What a sync run reads. `traits.change_listing` says what the scope of a cursor is."""

    @property
    def traits(self) -> ProviderTraits: ...

    async def list_changes(
        self, mailbox: Mailbox, scope: str, start_at: datetime, /, *, position: str | None, page_token: str | None
    ) -> ChangePage:
        """Sync since a cursor: the page at `page_token`, else the first page from `position`, else from nothing.

        A provider that can leaves out what is older than `start_at`.

        Raises:
            CursorRefused: the position is too old; begin from nothing.
            PageTokenRefused: the round cannot go on from this page; fall back to the position.
            ItemGone: the folder of this scope is no more; its cursor goes too.
        """
        ...

    async def list_modified(self, mailbox: Mailbox, since: datetime, /) -> SummaryPage:
        """The mailbox-wide list of what was modified, oldest first; empty where the history is as cheap."""
        ...

    async def list_received(self, mailbox: Mailbox, folder_id: str, since: datetime, until: datetime, /) -> SummaryPage:
        """A page of what lies in a folder and was received between these times, both included, oldest first; with more
        of each message than a page of changes has. Empty where changes are not listed by folder."""
        ...

    async def fetch_message(
        self,
        mailbox: Mailbox,
        message_id: str,
        known: MessageSummary | None = None,
        /,
        *,
        with_body: bool = False,
        with_parts: bool | None = None,
    ) -> Message:
        """A message with its parts, in the least calls; `known` spares the call for what a page already said.

        `with_parts` None lists the parts where the provider says there are attachments; without
        `traits.reports_inline_parts` it says so of no mail that has inline parts only: True asks all the same, False
        never. `observation` mailboxes get no parts and no body.

        Raises:
            ItemGone: deleted meanwhile, which is no failure.
        """
        ...

    async def translate_ids(self, mailbox: Mailbox, message_ids: Sequence[str], /) -> Mapping[str, str]:
        """By what ids other programs know these messages, where they do not ask for ours; what is missing is gone.

        Raises:
            PermissionMissing: the permission that the call needs; the sentence names the setting to change.
        """
        ...

    def open_part(
        self, mailbox: Mailbox, message_id: str, part: Part
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The part's bytes, streamed where the provider can; leaving the context early abandons the rest."""
        ...


class PushSubscriptions(Protocol):
    """The subscriptions of a provider whose `traits.push` is set."""

    @property
    def traits(self) -> ProviderTraits: ...

    async def create_subscription(self, mailbox: Mailbox, request: SubscriptionRequest, /) -> Subscription:
        """Store the answer's `expires_at`: the provider may grant another than was asked for."""
        ...

    async def renew_subscription(self, mailbox: Mailbox, subscription_id: str, expires_at: datetime, /) -> Subscription:
        """Raises ItemGone when there is nothing to renew: create a new one."""
        ...

    async def get_subscription(self, mailbox: Mailbox, subscription_id: str, /) -> Subscription | None:
        """The subscription as the provider has it, None when it is gone.

        Raises:
            Rejected: the provider has no such call (`traits.push.can_look_up` is False).
        """
        ...

    async def end_subscription(self, mailbox: Mailbox, subscription_id: str, /) -> None:
        """Tolerates that it is gone."""
        ...

    async def list_subscriptions(
        self, mailbox: Mailbox, /, *, asked_after: datetime | None = None
    ) -> Sequence[Subscription]:
        """Ours at this mailbox, strays included; empty where the provider cannot tell (`traits.push.can_look_up`).

        What the provider said after `asked_after` of many mailboxes at once will do; None: it is asked now.
        """
        ...


class Consent(Protocol):
    """A user's consent: the page to send the browser to, and what its answer is worth."""

    @property
    def traits(self) -> ProviderTraits: ...

    @property
    def page_origin(self) -> str:
        """Scheme, host and port of the consent page: where our own page's form may lead."""
        ...

    async def build_authorize_url(
        self,
        tenant: str | None,
        /,
        *,
        profile: Profile,
        redirect_uri: str,
        state: str,
        nonce: str,
        code_challenge: str,
        login_hint: str | None,
    ) -> str: ...

    async def exchange_code(
        self,
        tenant: str | None,
        /,
        *,
        profile: Profile,
        code: str,
        redirect_uri: str,
        code_verifier: str,
        nonce: str,
    ) -> Grant:
        """Raises Rejected when the code, the issuer, the nonce or the scopes are not what they must be."""
        ...

    async def identify_account(self, tenant: str | None, grant: Grant) -> Account:
        """Who consented, asked of the provider itself with the new access token.

        `tenant` is the one that `exchange_code` was given: naming one says that its administrator may be trusted.
        """
        ...

    async def list_folders(self, grant: Grant, mailbox: Mailbox) -> Sequence[Folder]:
        """As `FolderLister`, with a grant that is not stored yet."""
        ...

    async def revoke_grant(self, refresh_token: str, /) -> None:
        """Ends the grant at the provider, where it has such a call; tolerates that it is gone."""
        ...


class GrantRefresher(Protocol):
    async def refresh_grant(self, mailbox: Mailbox, /, refresh_token: str) -> Grant:
        """Raises TokenRefused when the provider refuses the refresh token; its generation is the caller's to name."""
        ...


class ApplicationTokenIssuer(Protocol):
    """Access tokens for mailboxes with application access, which have no grant."""

    def build_cache_key(self, mailbox: Mailbox) -> str:
        """Mailboxes of the same key share a token."""
        ...

    async def issue_token(self, mailbox: Mailbox) -> Grant: ...


class AccessTokenSource(Protocol):
    async def get_access_token(self, mailbox: Mailbox, /, *, rejected: str | None = None) -> str:
        """A token for a call; another than `rejected`, which the provider answered 401."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientContext:
    """What all provider clients of a process share.

    `count_sharers` tells how many doc sources a mailbox has: they divide its concurrent calls, whichever process has
    them.
    """

    http: httpx.AsyncClient
    tls: TLSSettings  # for a library that makes its own client
    tokens: AccessTokenSource
    count_sharers: Callable[[Mailbox], int]
    budgets: Budgets  # of calls, shared by all processes of the application


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderClients:
    """The clients of one provider; None where it is not set up, or has no such thing."""

    mail: MailReader | None = None
    push: PushSubscriptions | None = None
    consent: Consent | None = None
    grant_refresher: GrantRefresher | None = None
    application_tokens: ApplicationTokenIssuer | None = None


class ProviderPackage(Protocol):
    """What a provider's package exports as `PACKAGE`. It reads its own settings from the environment."""

    @property
    def traits(self) -> ProviderTraits: ...

    def missing_settings(self, access: Access) -> str | None:
        """What the operator has to set before mailboxes of this access can be had, as a sentence; None: nothing."""
        ...

    def open_clients(self, context: ClientContext) -> ProviderClients:
        """Raises SettingsError when a setting is wrong. What is missing makes a client absent instead."""
        ...

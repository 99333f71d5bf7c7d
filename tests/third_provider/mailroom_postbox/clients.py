"""The provider's clients: `MailReader` and `Consent`. Where a real one would make a call, these ask the server."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from mailroom_common.errors import AccessDenied, ItemGone, Rejected, TokenRefused
from mailroom_common.events import Profile
from mailroom_common.providers.ports import AccessTokenSource
from mailroom_common.providers.types import (
    Account,
    Change,
    ChangeKind,
    ChangePage,
    Folder,
    Grant,
    Mailbox,
    Message,
    MessageSummary,
    Part,
    PartKind,
    SummaryPage,
)
from mailroom_postbox.server import PostboxAccount, PostboxServer, StoredMail
from mailroom_postbox.traits import INBOX, TRAITS

_TOKEN_LIFETIME = timedelta(hours=1)


class PostboxMail:
    """`MailReader`. The position of the one cursor is an index into the account's log."""

    traits = TRAITS

    def __init__(self, server: PostboxServer, tokens: AccessTokenSource) -> None:
        self._server = server
        self._tokens = tokens

    async def list_folders(self, mailbox: Mailbox) -> Sequence[Folder]:
        await self._open_account(mailbox)
        return (INBOX,)

    async def list_changes(
        self, mailbox: Mailbox, scope: str, _start_at: datetime, *, position: str | None, page_token: str | None
    ) -> ChangePage:
        if scope != INBOX.folder_id:
            raise ItemGone("no such folder")
        account = await self._open_account(mailbox)
        start = int(page_token or position or 0)
        changes = tuple(self._build_change(account, message_id) for message_id in account.log[start:])
        return ChangePage(changes, position=str(len(account.log)))

    async def list_modified(self, mailbox: Mailbox, since: datetime) -> SummaryPage:
        account = await self._open_account(mailbox)
        modified = [mail for mail in account.mails.values() if mail.received_at >= since]
        return SummaryPage(tuple(summary_of(mail) for mail in sorted(modified, key=lambda mail: mail.received_at)))

    async def list_received(self, mailbox: Mailbox, _folder_id: str, since: datetime, until: datetime) -> SummaryPage:
        account = await self._open_account(mailbox)
        received = [mail for mail in account.mails.values() if since <= mail.received_at <= until]
        return SummaryPage(tuple(summary_of(mail) for mail in sorted(received, key=lambda mail: mail.received_at)))

    async def fetch_message(
        self,
        mailbox: Mailbox,
        message_id: str,
        _known: MessageSummary | None = None,
        *,
        with_body: bool = False,
        with_parts: bool | None = None,
    ) -> Message:
        mail = self._find_mail(await self._open_account(mailbox), message_id)
        is_observed = mailbox.profile is Profile.OBSERVATION
        parts = () if with_parts is False or is_observed else tuple(_build_parts(mail))
        return Message(summary_of(mail), parts, "" if with_body and not is_observed else None)

    async def translate_ids(self, _mailbox: Mailbox, message_ids: Sequence[str]) -> Mapping[str, str]:
        return {message_id: message_id for message_id in message_ids}

    @asynccontextmanager
    async def open_part(self, mailbox: Mailbox, message_id: str, part: Part) -> AsyncIterator[AsyncIterator[bytes]]:
        mail = self._find_mail(await self._open_account(mailbox), message_id)
        yield _stream_content(mail.attachments[int(part.part_path)].content)

    async def _open_account(self, mailbox: Mailbox) -> PostboxAccount:
        token = await self._tokens.get_access_token(mailbox)
        account = self._server.find_account(token)
        if account is None:
            account = self._server.find_account(await self._tokens.get_access_token(mailbox, rejected=token))
        if account is None:
            raise AccessDenied("the postbox refuses a token that was just refreshed")
        return account

    def _find_mail(self, account: PostboxAccount, message_id: str) -> StoredMail:
        if message_id not in account.mails:
            raise ItemGone("no such message")
        return account.mails[message_id]

    def _build_change(self, account: PostboxAccount, message_id: str) -> Change:
        mail = account.mails.get(message_id)
        if mail is None:
            return Change(ChangeKind.REMOVED, message_id)
        return Change(ChangeKind.PRESENT, message_id, summary_of(mail))


class PostboxConsent:
    """`Consent`, and the refresh of its grants."""

    traits = TRAITS
    page_origin = "https://postbox.example"

    def __init__(self, server: PostboxServer) -> None:
        self._server = server

    async def build_authorize_url(
        self,
        _tenant: str | None,
        *,
        profile: Profile,
        redirect_uri: str,
        state: str,
        nonce: str,
        code_challenge: str,
        login_hint: str | None,
    ) -> str:
        query = {
            "scope": profile,
            "redirect_uri": redirect_uri,
            "state": state,
            "nonce": nonce,
            "code_challenge": code_challenge,
            "login_hint": login_hint or "",
        }
        return f"{self.page_origin}/authorize?{urlencode(query)}"

    async def exchange_code(
        self,
        _tenant: str | None,
        *,
        profile: Profile,
        code: str,
        redirect_uri: str,
        code_verifier: str,
        nonce: str,
    ) -> Grant:
        redeemed = self._server.redeem_code(code)
        if redeemed is None or not redirect_uri or not code_verifier or not nonce:
            raise Rejected("the code is used or unknown")
        access_token, refresh_token = redeemed
        return Grant(access_token, refresh_token, datetime.now(UTC) + _TOKEN_LIFETIME, frozenset({profile}))

    async def identify_account(self, _tenant: str | None, grant: Grant) -> Account:
        account = self._server.find_account(grant.access_token)
        if account is None:
            raise Rejected("nobody has this token")
        return Account(f"user-{account.address}", account.address, verified_addresses=(account.address,))

    async def list_folders(self, _grant: Grant, _mailbox: Mailbox) -> Sequence[Folder]:
        return (INBOX,)

    async def revoke_grant(self, refresh_token: str) -> None:
        self._server.revoke_refresh_token(refresh_token)

    async def refresh_grant(self, _mailbox: Mailbox, refresh_token: str) -> Grant:
        access_token = self._server.refresh_access(refresh_token)
        if access_token is None:
            raise TokenRefused("the postbox does not know this refresh token", grant_generation=0)
        return Grant(access_token, None, datetime.now(UTC) + _TOKEN_LIFETIME, frozenset())


def summary_of(mail: StoredMail) -> MessageSummary:
    return MessageSummary(
        message_id=mail.message_id,
        folder_id=INBOX.folder_id,
        received_at=mail.received_at,
        modified_at=mail.received_at,
        internet_message_id=f"<{mail.message_id}@supplier.example>",
        subject=mail.subject,
        sender_address=mail.sender_address,
        has_attachments=bool(mail.attachments),
        version="1",
        headers={},
    )


def _build_parts(mail: StoredMail) -> list[Part]:
    return [
        Part(
            part_path=str(number),
            kind=PartKind.FILE,
            filename=attachment.filename,
            content_type=attachment.content_type,
            size_bytes=len(attachment.content),
            disposition="attachment",
        )
        for number, attachment in enumerate(mail.attachments)
    ]


async def _stream_content(content: bytes) -> AsyncIterator[bytes]:
    yield content

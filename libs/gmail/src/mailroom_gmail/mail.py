"""Gmail mailboxes by the Gmail API.

Every run is the history, of all types and without a label filter: which labels a message has now decides. Beside it
runs a re-list where the history does not reach back. Source: providers/gmail.md 4, 7, 8 and 10.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from urllib.parse import quote

import httpx

from mailroom_common.errors import ItemGone, MailroomError, ProviderUnavailable, Rejected
from mailroom_common.events import Profile
from mailroom_common.providers.calls import Call, ProviderCalls, Refusal
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import HISTORY_SCOPE, RELIST_SCOPE, AccessTokenSource
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import (
    Change,
    ChangeKind,
    ChangePage,
    Folder,
    Mailbox,
    Message,
    MessageSummary,
    Part,
    SummaryPage,
)
from mailroom_gmail.base64url import member_bytes
from mailroom_gmail.errors import judge, judge_page
from mailroom_gmail.mapping import (
    METADATA_HEADERS,
    Payload,
    changes_of,
    folder_of,
    handle_of,
    html_parts,
    moment,
    number,
    parts_of,
    required,
    summary_of,
    text_of,
)
from mailroom_gmail.settings import ME, TRAITS

RELIST_DONE = "done"
SLOTS_PER_MAILBOX = 8  # the limit is unpublished; reports say 10 to 50
_HISTORY_PAGE = "500"
_RELIST_PAGE = "100"  # each id costs a fetch of 20 units: a page stays within half a minute's quota
_MESSAGE_LIMIT_BYTES = 64 * 1024 * 1024


class _StaleHandle(ItemGone):
    """An attachmentId is renewed with each fetch of its message; an old one may fail."""


class GmailMail:
    """`MailReader` for Gmail. Cursors have two scopes: `history`, whose position is a history id, and `relist`."""

    traits = TRAITS

    def __init__(self, http: httpx.AsyncClient, base: BaseURL, tokens: AccessTokenSource, quota: Quota) -> None:
        self._calls = ProviderCalls(TRAITS.name, http, base, tokens, quota, judge)

    async def list_folders(self, mailbox: Mailbox) -> Sequence[Folder]:
        """The labels. A label's name is its path: Gmail joins nested ones by `/` itself."""
        call = Call(name="labels", path=f"{ME}/labels", units=1)
        labels = (await self._calls.json(mailbox, call)).get("labels") or ()
        return [folder_of(label) for label in labels if isinstance(label, dict)]

    async def list_modified(self, _mailbox: Mailbox, _since: datetime) -> SummaryPage:
        return SummaryPage(())

    async def list_changes(
        self, mailbox: Mailbox, scope: str, start_at: datetime, *, position: str | None, page_token: str | None
    ) -> ChangePage:
        if scope == HISTORY_SCOPE:
            return await self._history(mailbox, position, page_token)
        if scope == RELIST_SCOPE:
            return await self._relist(mailbox, page_token, start_at)
        raise ValueError(f"Gmail has no cursor of scope {scope!r}")

    async def _history(self, mailbox: Mailbox, position: str | None, page_token: str | None) -> ChangePage:
        if position is None:
            # Taken before the re-list begins: what arrives meanwhile is in the history.
            profile = await self._calls.json(mailbox, Call(name="profile", path=f"{ME}/profile", units=1))
            return ChangePage((), position=_history_id(profile), needs_relist=True)
        query = {"startHistoryId": position, "maxResults": _HISTORY_PAGE} | _page(page_token)
        call = Call(name="history", path=f"{ME}/history", query=query, units=2)
        page = await self._calls.json(mailbox, call, judge=judge_page(is_page=page_token is not None, is_history=True))
        changes = changes_of([record for record in page.get("history") or () if isinstance(record, dict)])
        # A page may be empty and not the last: only the token tells.
        if isinstance(token := page.get("nextPageToken"), str) and token:
            return ChangePage(changes, page_token=token)
        return ChangePage(changes, position=_history_id(page))

    async def _relist(self, mailbox: Mailbox, page_token: str | None, start_at: datetime) -> ChangePage:
        """Ids of what came since `start_at`, newest first; the history beside it tells what is removed meanwhile."""
        is_observed = mailbox.profile is Profile.OBSERVATION
        query = {"maxResults": _RELIST_PAGE, "includeSpamTrash": str(is_observed).lower()} | _page(page_token)
        if not is_observed:
            # In epoch seconds; a date would be read in Pacific time. One second earlier, since `after` may exclude.
            query |= {"q": f"after:{int(start_at.timestamp()) - 1}"}
        call = Call(name="relist", path=f"{ME}/messages", query=query, units=5)
        page = await self._calls.json(mailbox, call, judge=judge_page(is_page=page_token is not None, is_history=False))
        ids = [required(item, "id") for item in page.get("messages") or () if isinstance(item, dict)]
        changes = tuple(Change(ChangeKind.PRESENT, message_id) for message_id in ids)
        token = page.get("nextPageToken")
        is_last = not isinstance(token, str) or not token
        if is_last or (is_observed and await self._ends_before(mailbox, ids, start_at)):
            return ChangePage(changes, position=RELIST_DONE)
        return ChangePage(changes, page_token=token)

    async def _ends_before(self, mailbox: Mailbox, ids: list[str], start_at: datetime) -> bool:
        """`gmail.metadata` is refused `q`: whether the list has gone far enough back, its oldest message tells.

        A day's margin, since the order is not promised to be that of the dates.
        """
        for message_id in reversed(ids):
            call = Call(name="message", path=_message(message_id), query={"format": "minimal"}, units=20)
            try:
                received_at = moment((await self._calls.json(mailbox, call)).get("internalDate"))
            except ItemGone:
                continue
            return received_at is not None and received_at < start_at - timedelta(days=1)
        return False

    async def fetch_message(
        self,
        mailbox: Mailbox,
        message_id: str,
        _known: MessageSummary | None = None,
        *,
        with_body: bool = False,
        with_parts: bool | None = None,
    ) -> Message:
        # What a page said is passed over: labels change, and those that the message has now decide.
        if mailbox.profile is Profile.OBSERVATION or (with_parts is False and not with_body):
            query = {"format": "metadata", "metadataHeaders": METADATA_HEADERS}
            call = Call(name="message", path=_message(message_id), query=query, units=20)
            return Message(summary_of(await self._calls.json(mailbox, call)), ())
        message = await self._full(mailbox, message_id)
        payload = message.get("payload") or {}
        html = await self._html(mailbox, message_id, payload, may_call=with_body)
        return Message(summary_of(message), () if with_parts is False else parts_of(payload), html)

    async def _full(self, mailbox: Mailbox, message_id: str) -> Payload:
        call = Call(
            name="message",
            path=_message(message_id),
            query={"format": "full"},
            units=20,
            limit_bytes=_MESSAGE_LIMIT_BYTES,
        )
        return await self._calls.json(mailbox, call)

    async def _html(self, mailbox: Mailbox, message_id: str, payload: Payload, *, may_call: bool) -> str | None:
        """Several texts where a mail program put pictures or files between them. A large one is kept apart and costs a
        call; the others came with the message, asked for or not."""
        texts = []
        for part in html_parts(payload):
            handle = handle_of(part)
            if isinstance(handle, str):
                if not may_call:
                    return None
                async with self._download(mailbox, message_id, handle) as chunks:
                    handle = b"".join([chunk async for chunk in chunks])
            texts.append(text_of(part, handle or b""))
        return "\n".join(texts)

    @asynccontextmanager
    async def open_part(self, mailbox: Mailbox, message_id: str, part: Part) -> AsyncIterator[AsyncIterator[bytes]]:
        """The part's bytes; a nested message's own source, where Gmail keeps it in one piece."""
        async with AsyncExitStack() as opened:
            handle, chunks = part.handle, None
            if isinstance(handle, str):
                try:
                    chunks = await opened.enter_async_context(self._download(mailbox, message_id, handle))
                except _StaleHandle:
                    handle = None
            if handle is None:
                handle = await self._handle_again(mailbox, message_id, part.part_path)
            if isinstance(handle, bytes):
                chunks = _at_once(handle)
            elif chunks is None:
                chunks = await opened.enter_async_context(self._download(mailbox, message_id, handle))
            yield chunks

    async def _handle_again(self, mailbox: Mailbox, message_id: str, part_path: str) -> str | bytes:
        message = await self._full(mailbox, message_id)
        for part in parts_of(message.get("payload") or {}):
            if part.part_path == part_path and part.handle is not None:
                return part.handle
        raise ItemGone("Gmail has no bytes for this part")

    @asynccontextmanager
    async def _download(
        self, mailbox: Mailbox, message_id: str, attachment_id: str
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        path = f"{_message(message_id)}/attachments/{quote(attachment_id, safe='')}"
        call = Call(name="part", path=path, units=20)
        async with self._calls.stream(mailbox, call, judge=_judge_attachment) as response:
            yield member_bytes(response.aiter_bytes(), "data")


def _judge_attachment(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    error = judge(mailbox, refusal)
    if refusal.status in (400, 404) and isinstance(error, Rejected):
        return _StaleHandle(str(error))
    return error


async def _at_once(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content


def _page(page_token: str | None) -> dict[str, str]:
    return {"pageToken": page_token} if page_token else {}


def _history_id(answer: Payload) -> str:
    history_id = number(answer.get("historyId"))
    if history_id is None:
        raise ProviderUnavailable("Gmail left out its history id")
    return history_id


def _message(message_id: str) -> str:
    return f"{ME}/messages/{quote(message_id, safe='')}"

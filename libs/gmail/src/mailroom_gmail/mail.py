"""Gmail mailboxes by the Gmail API.

Every run is the history, of all types and without a label filter: which labels a message has now decides. Beside it
runs a re-list where the history does not reach back. Source: providers/gmail.md 4, 7, 8 and 10.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from urllib.parse import quote

import httpx

from mailroom_common.errors import ItemGone, MailroomError, ProviderUnavailable, Rejected
from mailroom_common.events import Profile
from mailroom_common.providers.calls import ProviderCall, ProviderCalls, Refusal
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
from mailroom_common.providers.untrusted_text import MAX_HTML_CHARACTERS, read_object
from mailroom_gmail.base64url import member_bytes
from mailroom_gmail.errors import build_list_mapper, map_refusal
from mailroom_gmail.mapping import (
    METADATA_HEADERS,
    Payload,
    build_changes,
    build_folder,
    build_parts,
    build_summary,
    decode_text,
    find_html_parts,
    list_ids,
    parse_number,
    parse_time,
    read_handle,
)
from mailroom_gmail.settings import ME, TRAITS

RELIST_DONE = "done"
# Of an observed mailbox: from the page of this token on, all is older than what is listed for.
_OLD_PAGE_PREFIX = "old:"
SLOTS_PER_MAILBOX = 8  # the limit is unpublished; reports say 10 to 50
_HISTORY_PAGE = "500"
_RELIST_PAGE = "100"  # each id costs a fetch of 20 units: a page stays within half a minute's quota
_MAX_HTML_CALLS = 10  # for the body of one mail
_MESSAGE_LIMIT_BYTES = 64 * 1024 * 1024


class _StaleHandle(ItemGone):
    """An attachmentId is renewed with each fetch of its message; an old one may fail."""


class GmailMail:
    """`MailReader` for Gmail. Cursors have two scopes: `history`, whose position is a history id, and `relist`."""

    traits = TRAITS

    def __init__(self, http: httpx.AsyncClient, base: BaseURL, tokens: AccessTokenSource, quota: Quota) -> None:
        self._calls = ProviderCalls(TRAITS.name, http, base, tokens, quota, map_refusal)

    async def list_folders(self, mailbox: Mailbox) -> Sequence[Folder]:
        """The labels. A label's name is its path: Gmail joins nested ones by `/` itself."""
        call = ProviderCall(name="labels", path=f"{ME}/labels", units=1)
        labels = (await self._calls.fetch_json(mailbox, call)).get("labels") or ()
        return [build_folder(label) for label in labels if isinstance(label, dict)]

    async def list_modified(self, _mailbox: Mailbox, _since: datetime) -> SummaryPage:
        return SummaryPage(())

    async def list_received(
        self, _mailbox: Mailbox, _folder_id: str, _since: datetime, _until: datetime
    ) -> SummaryPage:
        return SummaryPage(())

    async def list_changes(
        self, mailbox: Mailbox, scope: str, start_at: datetime, *, position: str | None, page_token: str | None
    ) -> ChangePage:
        if scope == HISTORY_SCOPE:
            return await self._list_history(mailbox, position, page_token)
        if scope == RELIST_SCOPE:
            return await self._list_messages_since(mailbox, page_token, start_at)
        raise ValueError(f"Gmail has no cursor of scope {scope!r}")

    async def _list_history(self, mailbox: Mailbox, position: str | None, page_token: str | None) -> ChangePage:
        if position is None:
            # Taken before the re-list begins: what arrives meanwhile is in the history.
            profile = await self._calls.fetch_json(mailbox, ProviderCall(name="profile", path=f"{ME}/profile", units=1))
            return ChangePage((), position=_read_history_id(profile), needs_relist=True)
        query = {"startHistoryId": position, "maxResults": _HISTORY_PAGE} | _build_page_query(page_token)
        call = ProviderCall(name="history", path=f"{ME}/history", query=query, units=2)
        page = await self._calls.fetch_json(
            mailbox, call, map_refusal=build_list_mapper(is_page=page_token is not None, is_history=True)
        )
        changes = build_changes([record for record in page.get("history") or () if isinstance(record, dict)])
        # A page may be empty and not the last: only the token tells.
        if isinstance(token := page.get("nextPageToken"), str) and token:
            return ChangePage(changes, page_token=token)
        return ChangePage(changes, position=_read_history_id(page))

    async def _list_messages_since(self, mailbox: Mailbox, page_token: str | None, start_at: datetime) -> ChangePage:
        """Ids of what came since `start_at`, newest first; the history beside it tells what is removed meanwhile.

        An observed mailbox is listed to its end: of what is older the id alone, at no further call.
        """
        is_observed = mailbox.profile is Profile.OBSERVATION
        is_old = page_token is not None and page_token.startswith(_OLD_PAGE_PREFIX)
        query = {"maxResults": _RELIST_PAGE, "includeSpamTrash": str(is_observed).lower()}
        query |= _build_page_query((page_token or "").removeprefix(_OLD_PAGE_PREFIX))
        if not is_observed:
            # In epoch seconds; a date would be read in Pacific time. One second earlier, since `after` may exclude.
            query |= {"q": f"after:{int(start_at.timestamp()) - 1}"}
        call = ProviderCall(name="relist", path=f"{ME}/messages", query=query, units=5)
        page = await self._calls.fetch_json(
            mailbox, call, map_refusal=build_list_mapper(is_page=page_token is not None, is_history=False)
        )
        ids = list_ids(page.get("messages") or ())
        received_before = start_at if is_old else None
        changes = tuple(Change(ChangeKind.PRESENT, one, received_before=received_before) for one in ids)
        token = page.get("nextPageToken")
        if not isinstance(token, str) or not token:
            return ChangePage(changes, position=RELIST_DONE)
        if is_old or (is_observed and await self._reaches_back_before(mailbox, ids, start_at)):
            token = _OLD_PAGE_PREFIX + token
        return ChangePage(changes, page_token=token)

    async def _reaches_back_before(self, mailbox: Mailbox, ids: list[str], start_at: datetime) -> bool:
        """`gmail.metadata` is refused `q`: whether the list has gone far enough back, its oldest message tells.

        A day's margin, since the order is not promised to be that of the dates.
        """
        for message_id in reversed(ids):
            call = ProviderCall(
                name="message", path=_build_message_path(message_id), query={"format": "minimal"}, units=20
            )
            try:
                received_at = parse_time((await self._calls.fetch_json(mailbox, call)).get("internalDate"))
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
            call = ProviderCall(name="message", path=_build_message_path(message_id), query=query, units=20)
            return Message(build_summary(await self._calls.fetch_json(mailbox, call)), ())
        message = await self._fetch_full(mailbox, message_id)
        payload = read_object(message, "payload")
        html = await self._read_html(mailbox, message_id, payload, may_call=with_body)
        return Message(build_summary(message), () if with_parts is False else build_parts(payload), html)

    async def _fetch_full(self, mailbox: Mailbox, message_id: str) -> Payload:
        call = ProviderCall(
            name="message",
            path=_build_message_path(message_id),
            query={"format": "full"},
            units=20,
            limit_bytes=_MESSAGE_LIMIT_BYTES,
        )
        return await self._calls.fetch_json(mailbox, call)

    async def _read_html(self, mailbox: Mailbox, message_id: str, payload: Payload, *, may_call: bool) -> str | None:
        """Several texts where a mail program put pictures or files between them. A large one is kept apart and costs a
        call, which is made for the first ones; the others came with the message, asked for or not."""
        texts: list[str] = []
        calls = characters = 0
        for part in find_html_parts(payload):
            handle = read_handle(part)
            if characters > MAX_HTML_CHARACTERS or calls >= _MAX_HTML_CALLS:
                break
            if isinstance(handle, str):
                if not may_call:
                    return None
                calls += 1
                async with self._download_part(mailbox, message_id, handle) as chunks:
                    handle = b"".join([chunk async for chunk in chunks])
            texts.append(decode_text(part, handle or b""))
            characters += len(texts[-1])
        return "\n".join(texts)[:MAX_HTML_CHARACTERS]

    async def translate_ids(self, _mailbox: Mailbox, message_ids: Sequence[str]) -> Mapping[str, str]:
        """A message has one id at Gmail, for everybody."""
        return {message_id: message_id for message_id in message_ids}

    @asynccontextmanager
    async def open_part(self, mailbox: Mailbox, message_id: str, part: Part) -> AsyncIterator[AsyncIterator[bytes]]:
        """The part's bytes; of a nested message its own source, or that of the whole mail where Gmail has it in no
        piece of its own."""
        async with AsyncExitStack() as opened:
            if part.is_within_source:
                yield await opened.enter_async_context(self._download_source(mailbox, message_id))
                return
            handle, chunks = part.handle, None
            if isinstance(handle, str):
                try:
                    chunks = await opened.enter_async_context(self._download_part(mailbox, message_id, handle))
                except _StaleHandle:
                    handle = None
            if handle is None:
                handle = await self._find_new_handle(mailbox, message_id, part.part_path)
            if isinstance(handle, bytes):
                chunks = _yield_content(handle)
            elif chunks is None:
                chunks = await opened.enter_async_context(self._download_part(mailbox, message_id, handle))
            yield chunks

    async def _find_new_handle(self, mailbox: Mailbox, message_id: str, part_path: str) -> str | bytes:
        message = await self._fetch_full(mailbox, message_id)
        for part in build_parts(read_object(message, "payload")):
            if part.part_path == part_path and part.handle is not None:
                return part.handle
        raise ItemGone("Gmail has no bytes for this part")

    @asynccontextmanager
    async def _download_source(self, mailbox: Mailbox, message_id: str) -> AsyncIterator[AsyncIterator[bytes]]:
        call = ProviderCall(name="source", path=_build_message_path(message_id), query={"format": "raw"}, units=20)
        async with self._calls.stream_answer(mailbox, call) as response:
            yield member_bytes(response.aiter_bytes(), "raw")

    @asynccontextmanager
    async def _download_part(
        self, mailbox: Mailbox, message_id: str, attachment_id: str
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        path = f"{_build_message_path(message_id)}/attachments/{quote(attachment_id, safe='')}"
        call = ProviderCall(name="part", path=path, units=20)
        async with self._calls.stream_answer(mailbox, call, map_refusal=_map_attachment_refusal) as response:
            yield member_bytes(response.aiter_bytes(), "data")


def _map_attachment_refusal(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    error = map_refusal(mailbox, refusal)
    if refusal.status in (400, 404) and isinstance(error, Rejected):
        return _StaleHandle(str(error))
    return error


async def _yield_content(content: bytes) -> AsyncIterator[bytes]:
    if content:
        yield content


def _build_page_query(page_token: str | None) -> dict[str, str]:
    return {"pageToken": page_token} if page_token else {}


def _read_history_id(answer: Payload) -> str:
    history_id = parse_number(answer.get("historyId"))
    if history_id is None:
        raise ProviderUnavailable("Gmail left out its history id")
    return history_id


def _build_message_path(message_id: str) -> str:
    return f"{ME}/messages/{quote(message_id, safe='')}"

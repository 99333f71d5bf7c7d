"""Outlook mailboxes by Microsoft Graph.

Every call asks for immutable ids: an id then survives a move within the mailbox, and the ids of deltas, lists,
notifications and attachments are one another's. Source: providers/graph.md 9 and 10.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import httpx

from mailroom_common.budgets.window import UnitLimit
from mailroom_common.errors import MailroomError, ProviderUnavailable, Rejected
from mailroom_common.events import Profile
from mailroom_common.providers.calls import ProviderCall, Refusal, RefusalMapper
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import AccessTokenSource
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import (
    ChangePage,
    Folder,
    Mailbox,
    Message,
    MessageSummary,
    Part,
    PartKind,
    SummaryPage,
)
from mailroom_outlook.errors import build_delta_mapper, map_refusal, map_translation_refusal
from mailroom_outlook.expanding import PartExpansion
from mailroom_outlook.folders import GraphFolders
from mailroom_outlook.graph_calls import IMMUTABLE_IDS, build_user_path, follow_pages, open_graph_calls, quote_segment
from mailroom_outlook.mapping import (
    BODY_SELECT,
    CONTENT_ID_SELECT,
    EXPAND_PARTS,
    LIST_SELECT,
    PART_SELECT,
    SUMMARY_SELECT,
    Payload,
    build_changes,
    build_listed_summaries,
    build_parts,
    build_summary,
    format_time,
    read_html,
    read_items,
    read_translated_ids,
)
from mailroom_outlook.settings import TRAITS

SLOTS_PER_MAILBOX = 4
CALLS_PER_MAILBOX = UnitLimit(10_000, window_s=600)
_DELTA_PAGE = 100
_LIST_PAGE = 50
_MAX_TRANSLATED_IDS = 1000
_MESSAGE_LIMIT_BYTES = 64 * 1024 * 1024
_LIST_QUERY = {"$select": LIST_SELECT, "$top": str(_LIST_PAGE)}
_EXPAND = {"$expand": EXPAND_PARTS}


class _UnknownMember(MailroomError):
    """Graph does not take the cast to fileAttachment/contentId in a select."""


class GraphMail:
    """`MailReader` for Outlook. A cursor's scope is a folder id; its position and page token are stored links."""

    traits = TRAITS

    def __init__(self, http: httpx.AsyncClient, base: BaseURL, tokens: AccessTokenSource, quota: Quota) -> None:
        self._base = base
        self._calls = open_graph_calls(http, base, tokens, quota)
        self._folders = GraphFolders(self._calls, base)
        self._expansion = PartExpansion()

    async def list_folders(self, mailbox: Mailbox) -> Sequence[Folder]:
        return await self._folders.list_tree(mailbox, build_user_path(mailbox))

    async def list_changes(
        self, mailbox: Mailbox, scope: str, _start_at: datetime, *, position: str | None, page_token: str | None
    ) -> ChangePage:
        # Never expanded: Graph would ignore the nested select there and send whole contents (graph.md 10.1).
        # A delta that is filtered by time ends at 5,000 messages: all come, and the caller passes over the old.
        link = page_token or position
        call = ProviderCall(
            name="delta",
            path=link or f"{build_user_path(mailbox)}/mailFolders/{quote_segment(scope)}/messages/delta",
            query={} if link else {"$select": SUMMARY_SELECT},
            # The page size is not in the token: it goes with every page.
            headers={"Prefer": f"{IMMUTABLE_IDS}, odata.maxpagesize={_DELTA_PAGE}"},
        )
        page = await self._calls.fetch_json(
            mailbox, call, map_refusal=build_delta_mapper(link or "", is_page=page_token is not None)
        )
        return self._build_change_page(page)

    def _build_change_page(self, page: Payload) -> ChangePage:
        changes = build_changes(read_items(page))
        next_link, delta_link = page.get("@odata.nextLink"), page.get("@odata.deltaLink")
        if isinstance(next_link, str):
            return ChangePage(changes, page_token=self._base.relativize_link(next_link))
        if isinstance(delta_link, str):
            return ChangePage(changes, position=self._base.relativize_link(delta_link))
        raise ProviderUnavailable("Graph's delta page says neither how to go on nor that it ended")

    async def list_modified(self, mailbox: Mailbox, since: datetime) -> SummaryPage:
        """A page by value, with the parts. Where more items share one time than a page holds, their pages are read on
        by link."""
        return await self._expansion.read_expanded(
            mailbox, lambda expands: self._list_modified(mailbox, since, _EXPAND if expands else {})
        )

    async def _list_modified(self, mailbox: Mailbox, since: datetime, expand: Mapping[str, str]) -> SummaryPage:
        call = ProviderCall(
            name="list",
            path=f"{build_user_path(mailbox)}/messages",
            query={
                "$filter": f"lastModifiedDateTime ge {format_time(since)}",
                "$orderby": "lastModifiedDateTime",
                **_LIST_QUERY,
                **expand,
            },
            limit_bytes=_MESSAGE_LIMIT_BYTES,
        )
        found: list[MessageSummary] = []
        async for page in follow_pages(self._calls, self._base, mailbox, call):
            found += build_listed_summaries(read_items(page))
            greatest = max((item.modified_at for item in found if item.modified_at), default=since)
            if "@odata.nextLink" in page and greatest > since:
                return SummaryPage(tuple(found), resume_after=greatest)
        return SummaryPage(tuple(found))

    async def list_received(self, mailbox: Mailbox, folder_id: str, since: datetime, until: datetime) -> SummaryPage:
        """A page by value, with the parts. One call: no link is ever followed."""

        async def read(expands: bool) -> SummaryPage:
            # Graph's times have a digit more than is read of them: the last message must not be cut off for it.
            until_after = format_time(until + timedelta(seconds=1))
            call = ProviderCall(
                name="received",
                path=f"{build_user_path(mailbox)}/mailFolders/{quote_segment(folder_id)}/messages",
                query={
                    "$filter": f"receivedDateTime ge {format_time(since)} and receivedDateTime lt {until_after}",
                    "$orderby": "receivedDateTime",
                    **_LIST_QUERY,
                    **(_EXPAND if expands else {}),
                },
                limit_bytes=_MESSAGE_LIMIT_BYTES,
            )
            page = await self._calls.fetch_json(mailbox, call)
            found = tuple(build_listed_summaries(read_items(page)))
            greatest = max((item.received_at for item in found if item.received_at), default=since)
            return SummaryPage(found, resume_after=greatest if "@odata.nextLink" in page else None)

        return await self._expansion.read_expanded(mailbox, read)

    async def fetch_message(
        self,
        mailbox: Mailbox,
        message_id: str,
        known: MessageSummary | None = None,
        *,
        with_body: bool = False,
        with_parts: bool | None = None,
    ) -> Message:
        if mailbox.profile is Profile.OBSERVATION:  # Mail.ReadBasic opens neither
            with_body = with_parts = False
        summary, html = known, None
        if with_body or summary is None or not _is_complete(summary):
            payload = await self._fetch_payload(mailbox, message_id, with_body=with_body, with_parts=with_parts)
            summary = build_summary(payload)
            html = read_html(payload) if with_body else None
        if with_parts is None:
            with_parts = bool(summary.has_attachments)
        if not with_parts:
            return Message(summary, (), html)
        parts = summary.parts if summary.parts is not None else await self._list_parts(mailbox, message_id)
        return Message(summary, parts, html)

    async def _fetch_payload(
        self, mailbox: Mailbox, message_id: str, *, with_body: bool, with_parts: bool | None
    ) -> Payload:
        """With the parts, unless they are certainly not wanted: they cost no further call."""

        async def read(expands: bool) -> Payload:
            call = ProviderCall(
                name="message",
                path=_build_message_path(mailbox, message_id),
                query={
                    "$select": BODY_SELECT if with_body else LIST_SELECT,
                    **(_EXPAND if expands else {}),
                },
                limit_bytes=_MESSAGE_LIMIT_BYTES,
            )
            return await self._calls.fetch_json(mailbox, call)

        return await (read(False) if with_parts is False else self._expansion.read_expanded(mailbox, read))

    async def _list_parts(self, mailbox: Mailbox, message_id: str) -> tuple[Part, ...]:
        """Without their bytes, which a list would bring along unless it selects.

        `contentId` belongs to the derived type and is asked for by a cast. Whether every Graph takes that is not
        certain (graph.md 10.2): where it answers 400, these parts come without it.
        """
        try:
            return await self._list_parts_with(mailbox, message_id, CONTENT_ID_SELECT, _map_select_refusal)
        except _UnknownMember:
            return await self._list_parts_with(mailbox, message_id, PART_SELECT, map_refusal)

    async def _list_parts_with(
        self, mailbox: Mailbox, message_id: str, select: str, map_refusal: RefusalMapper
    ) -> tuple[Part, ...]:
        call = ProviderCall(
            name="parts",
            path=f"{_build_message_path(mailbox, message_id)}/attachments",
            query={"$select": select},
            limit_bytes=_MESSAGE_LIMIT_BYTES,
        )
        pages = follow_pages(self._calls, self._base, mailbox, call, map_refusal=map_refusal)
        return build_parts([item async for page in pages for item in read_items(page)])

    async def translate_ids(self, mailbox: Mailbox, message_ids: Sequence[str]) -> Mapping[str, str]:
        """The ids that Graph gives to whoever does not ask for immutable ones (graph.md 9.3)."""
        translated: dict[str, str] = {}
        for start in range(0, len(message_ids), _MAX_TRANSLATED_IDS):
            call = ProviderCall(
                name="translate_ids",
                method="POST",
                path=f"{build_user_path(mailbox)}/translateExchangeIds",
                body={
                    "inputIds": list(message_ids[start : start + _MAX_TRANSLATED_IDS]),
                    "sourceIdType": "restImmutableEntryId",
                    "targetIdType": "restId",
                },
            )
            answer = await self._calls.fetch_json(mailbox, call, map_refusal=map_translation_refusal)
            translated.update(read_translated_ids(answer))
        return translated

    @asynccontextmanager
    async def open_part(self, mailbox: Mailbox, message_id: str, part: Part) -> AsyncIterator[AsyncIterator[bytes]]:
        """The bytes as they were attached; of an attached item its MIME, iCalendar or vCard."""
        if part.kind is PartKind.LINK:
            raise Rejected("a cloud link has no bytes at Graph")
        path = f"{_build_message_path(mailbox, message_id)}/attachments/{quote_segment(part.part_path)}/$value"
        async with self._calls.stream_answer(mailbox, ProviderCall(name="part", path=path)) as response:
            yield response.aiter_bytes()


def _is_complete(summary: MessageSummary) -> bool:
    """A delta may bring an item with only what changed; a list and a fetch bring the headers too."""
    return None not in (summary.received_at, summary.folder_id, summary.has_attachments, summary.headers)


def _map_select_refusal(mailbox: Mailbox, refusal: Refusal) -> MailroomError:
    if refusal.status == httpx.codes.BAD_REQUEST:
        return _UnknownMember("Graph answered 400 to a select with contentId")
    return map_refusal(mailbox, refusal)


def _build_message_path(mailbox: Mailbox, message_id: str) -> str:
    return f"{build_user_path(mailbox)}/messages/{quote_segment(message_id)}"

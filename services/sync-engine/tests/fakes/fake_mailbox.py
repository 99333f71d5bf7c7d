"""Mailboxes in memory behind the provider port, counting calls; faults are switched on by the test."""

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import mailroom_gmail
import mailroom_outlook
from mailroom_common.errors import CallDeferred, ItemGone, MailroomError, ProviderUnavailable
from mailroom_common.events import Profile
from mailroom_common.providers.ports import ProviderTraits
from mailroom_common.providers.types import (
    Change,
    ChangeKind,
    ChangePage,
    Folder,
    LabelChanges,
    Mailbox,
    Message,
    MessageSummary,
    Part,
    PartKind,
    SummaryPage,
)

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
PDF = b"%PDF-1.7\nfake\n%%EOF"


@dataclass(slots=True)
class FakeClock:
    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **duration: float) -> datetime:
        self.now += timedelta(**duration)
        return self.now


@dataclass(slots=True)
class File:
    """An attached file with its bytes; what a provider says of it can be made to differ."""

    content: bytes = PDF
    filename: str | None = "invoice.pdf"
    content_type: str | None = "application/pdf"
    size_bytes: int | None = None
    is_inline: bool = False
    content_id: str | None = None
    disposition: str | None = None
    kind: PartKind = PartKind.FILE

    def part(self, path: str) -> Part:
        return Part(
            part_path=path,
            kind=self.kind,
            filename=self.filename,
            content_type=self.content_type,
            size_bytes=len(self.content) if self.size_bytes is None else self.size_bytes,
            is_inline=self.is_inline,
            content_id=self.content_id,
            disposition=self.disposition,
            handle=path,
        )


@dataclass(slots=True)
class StoredMail:
    summary: MessageSummary
    files: list[File] = field(default_factory=list)
    html: str = ""

    def list_parts(self) -> tuple[Part, ...]:
        return tuple(file.part(f"part-{index}") for index, file in enumerate(self.files))


class FakeMailbox(ABC):
    """What both fakes share: the mails, the calls that were made, and the errors that are due."""

    traits: ProviderTraits

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.mails: dict[str, StoredMail] = {}
        self.calls: Counter[str] = Counter()
        self.chunks_read = 0
        self.errors: dict[str, list[MailroomError]] = {}  # by call name: raised one after the other
        self.meanwhile: dict[str, Callable[[str], Awaitable[None]]] = {}  # by call name: awaited with what is asked for
        self.item_errors: dict[str, Exception] = {}  # by message id: raised by every fetch
        self.part_errors: dict[str, Exception] = {}  # by file name: raised each time the part is opened
        self.foreign_id_prefix = ""  # of the ids by which other programs know the mails
        self.cut_off_files: set[str] = set()  # names: their bytes end in the middle, as a connection that breaks
        self._units_per_minute = 0
        self._costs: Mapping[str, int] = {}
        self._recent: deque[tuple[datetime, int]] = deque()  # what was spent within the last minute
        self.units_spent = 0
        self._version = 0

    def limit_units(self, per_minute: int, costs: Mapping[str, int]) -> None:
        """Count every call exactly; no call is made beyond `per_minute` units within any minute, as by our budget."""
        self._units_per_minute, self._costs = per_minute, costs

    def _spend_units(self, name: str) -> None:
        units = self._costs.get(name, 0)
        if not units:
            return
        now = self.clock()
        while self._recent and self._recent[0][0] <= now - timedelta(minutes=1):
            self._recent.popleft()
        if sum(spent for _, spent in self._recent) + units > self._units_per_minute:
            raise CallDeferred("the budget is spent")  # ours, which is as large as the provider's
        self._recent.append((now, units))
        self.units_spent += units

    @property
    def call_count(self) -> int:
        return self.calls.total()

    async def _called(self, name: str, asked_for: str = "") -> None:
        self.calls[name] += 1
        if meanwhile := self.meanwhile.get(name):
            await meanwhile(asked_for)
        self._spend_units(name)
        if self.errors.get(name):
            raise self.errors[name].pop(0)

    def next_version(self) -> int:
        self._version += 1
        return self._version

    @abstractmethod
    async def list_folders(self, mailbox: Mailbox) -> Sequence[Folder]: ...

    @abstractmethod
    async def list_changes(
        self, mailbox: Mailbox, scope: str, start_at: datetime, *, position: str | None, page_token: str | None
    ) -> ChangePage: ...

    @abstractmethod
    async def list_modified(self, mailbox: Mailbox, since: datetime) -> SummaryPage: ...

    @abstractmethod
    async def list_received(
        self, mailbox: Mailbox, folder_id: str, since: datetime, until: datetime
    ) -> SummaryPage: ...

    async def fetch_message(
        self,
        mailbox: Mailbox,
        message_id: str,
        known: MessageSummary | None = None,
        *,
        with_body: bool = False,
        with_parts: bool | None = None,
    ) -> Message:
        if known is not None and known.parts is not None and not with_body:
            return Message(known, known.parts)  # the list has told them
        await self._called("fetch", message_id)
        if error := self.item_errors.get(message_id):
            raise error
        if message_id not in self.mails:
            raise ItemGone("no such message")
        mail = self.mails[message_id]
        lists_parts = bool(mail.summary.has_attachments) if with_parts is None else with_parts
        parts = mail.list_parts() if lists_parts else ()
        return Message(mail.summary, parts, mail.html if with_body else None)

    async def translate_ids(self, mailbox: Mailbox, message_ids: Sequence[str]) -> Mapping[str, str]:
        await self._called("translate")
        return {message_id: f"{self.foreign_id_prefix}{message_id}" for message_id in message_ids}

    @asynccontextmanager
    async def open_part(self, mailbox: Mailbox, message_id: str, part: Part) -> AsyncIterator[AsyncIterator[bytes]]:
        await self._called("open_part", message_id)
        if message_id not in self.mails:
            raise ItemGone("no such message")
        file = self.mails[message_id].files[int(part.part_path.removeprefix("part-"))]
        if error := self.part_errors.get(file.filename or ""):
            raise error
        yield self._chunks(file.content, is_cut_off=file.filename in self.cut_off_files)

    async def _chunks(self, content: bytes, *, is_cut_off: bool = False) -> AsyncIterator[bytes]:
        for start in range(0, len(content), 65536):
            self.chunks_read += 1
            yield content[start : start + 65536]
        if is_cut_off:
            raise ProviderUnavailable("the connection broke")


@dataclass(frozen=True, slots=True)
class _Logged:
    folder_id: str
    change: Change


class FakeOutlook(FakeMailbox):
    """Deltas per folder over a log of changes; a link is an index into that log."""

    traits = mailroom_outlook.PACKAGE.traits

    def __init__(self, clock: FakeClock, *, page_size: int = 3) -> None:
        super().__init__(clock)
        self.page_size = page_size
        self.tree: list[Folder] = [
            Folder("f-inbox", "Posteingang", "inbox"),
            Folder("f-invoices", "Posteingang/Rechnungen"),
            Folder("f-junk", "Junk", "junkemail"),
            Folder("f-deleted", "Geloescht", "deleteditems"),
            Folder("f-sent", "Gesendet", "sentitems"),
        ]
        self.lags = False  # deltas show nothing new
        self.expands_parts = False  # the list comes with the parts of its mails
        self.hidden_from_list: set[str] = set()
        self.lagging_in_list: dict[str, MessageSummary] = {}  # the list of what was received shows this instead
        self.list_page_size = 50
        self.ranges: list[tuple[str, datetime, datetime]] = []  # of each list of what was received
        self.lose_additions: set[str] = set()  # deltas from a position show the removal of these, and nothing else
        self.empty_pages = 0  # so many come before the next page with something on it
        self.asked: list[tuple[str, str | None, str | None]] = []  # scope, position, page token of each delta
        self._log: list[_Logged] = []
        self._delta_end = 0

    def deliver(
        self,
        message_id: str,
        *files: File,
        folder_id: str = "f-inbox",
        subject: str = "Invoice 17",
        received_at: datetime | None = None,
        html: str = "",
        headers: dict[str, str] | None = None,
        sender_address: str = "billing@supplier.example",
    ) -> StoredMail:
        at = received_at or self.clock()
        summary = MessageSummary(
            message_id=message_id,
            folder_id=folder_id,
            received_at=at,
            modified_at=self.clock(),
            internet_message_id=f"<{message_id}@supplier.example>",
            subject=subject,
            sender_address=sender_address,
            has_attachments=any(not file.is_inline for file in files),
            version=str(self.next_version()),
            headers=headers or {},
        )
        mail = self.mails[message_id] = StoredMail(summary, list(files), html)
        self._log.append(_Logged(folder_id, Change(ChangeKind.PRESENT, message_id, summary)))
        return mail

    def touch(self, message_id: str, **changed: object) -> None:
        mail = self.mails[message_id]
        mail.summary = replace(
            mail.summary,
            modified_at=self.clock(),
            version=str(self.next_version()),
            **changed,  # type: ignore[arg-type]
        )
        folder = mail.summary.folder_id or ""
        self._log.append(_Logged(folder, Change(ChangeKind.PRESENT, message_id, mail.summary)))

    def move(self, message_id: str, folder_id: str) -> None:
        source = self.mails[message_id].summary.folder_id or ""
        self._log.append(_Logged(source, Change(ChangeKind.REMOVED, message_id)))
        self.touch(message_id, folder_id=folder_id)

    def delete(self, message_id: str) -> None:
        folder = self.mails.pop(message_id).summary.folder_id or ""
        self._log.append(_Logged(folder, Change(ChangeKind.REMOVED, message_id)))

    def put_back(self, mail: StoredMail) -> None:
        """A mail that was deleted, as it was."""
        self.mails[mail.summary.message_id] = mail
        change = Change(ChangeKind.PRESENT, mail.summary.message_id, mail.summary)
        self._log.append(_Logged(mail.summary.folder_id or "", change))

    async def list_folders(self, mailbox: Mailbox) -> Sequence[Folder]:
        await self._called("folders")
        return list(self.tree)

    async def list_changes(
        self, mailbox: Mailbox, scope: str, start_at: datetime, *, position: str | None, page_token: str | None
    ) -> ChangePage:
        self.asked.append((scope, position, page_token))
        await self._called("delta", scope)
        if scope not in {folder.folder_id for folder in self.tree}:
            raise ItemGone("no such folder")
        if page_token is not None:
            await self._called("page")
            start = int(page_token)
        else:
            start = int(position) if position is not None else 0
        if not self.lags:
            self._delta_end = len(self._log)
        entries = [
            (index, logged.change)
            for index, logged in enumerate(self._log[: self._delta_end])
            if index >= start and logged.folder_id == scope and (position is None or not self._is_lost(logged.change))
        ]
        if position is None:
            # From nothing: what is there now, once, and no removals.
            latest = {change.message_id: index for index, change in entries}
            entries = [
                (index, change)
                for index, change in entries
                if change.kind is ChangeKind.PRESENT
                and latest[change.message_id] == index
                and change.message_id in self.mails
            ]
        if self.empty_pages:
            self.empty_pages -= 1
            return ChangePage((), page_token=str(start))
        page, rest = entries[: self.page_size], entries[self.page_size :]
        changes = tuple(change for _, change in page)
        if rest:
            return ChangePage(changes, page_token=str(rest[0][0]))
        return ChangePage(changes, position=str(max(start, self._delta_end)))

    def _is_lost(self, change: Change) -> bool:
        return change.kind is ChangeKind.PRESENT and change.message_id in self.lose_additions

    async def list_modified(self, mailbox: Mailbox, since: datetime) -> SummaryPage:
        await self._called("list")
        shown = sorted(
            (
                mail.summary
                for mail in self.mails.values()
                if mail.summary.modified_at is not None
                and mail.summary.modified_at >= since
                and mail.summary.message_id not in self.hidden_from_list
            ),
            key=lambda summary: (summary.modified_at or since, summary.message_id),
        )
        size = self.page_size
        # As the client of Graph does: what shares one time is read on by link.
        while size < len(shown) and (shown[size - 1].modified_at or since) <= since:
            size += self.page_size
        page = self._expand_parts(shown[:size])
        return SummaryPage(page, page[-1].modified_at if len(shown) > len(page) else None)

    async def list_received(self, mailbox: Mailbox, folder_id: str, since: datetime, until: datetime) -> SummaryPage:
        self.ranges.append((folder_id, since, until))
        await self._called("received", folder_id)
        shown = sorted(
            (
                self.lagging_in_list.get(message_id, mail.summary)
                for message_id, mail in self.mails.items()
                if mail.summary.folder_id == folder_id
                and message_id not in self.hidden_from_list
                and since <= (mail.summary.received_at or since) <= until
            ),
            key=lambda summary: (summary.received_at or since, summary.message_id),
        )
        page = self._expand_parts(shown[: self.list_page_size])
        return SummaryPage(page, page[-1].received_at if len(shown) > len(page) else None)

    def _expand_parts(self, page: Sequence[MessageSummary]) -> tuple[MessageSummary, ...]:
        if not self.expands_parts:
            return tuple(page)
        return tuple(
            replace(summary, parts=self.mails[summary.message_id].list_parts())
            if summary.message_id in self.mails
            else summary
            for summary in page
        )


class FakeGmail(FakeMailbox):
    traits = mailroom_gmail.PACKAGE.traits

    def __init__(self, clock: FakeClock, *, page_size: int = 3) -> None:
        super().__init__(clock)
        self.page_size = page_size
        self.labels: list[Folder] = [Folder("INBOX", "INBOX", "INBOX")]
        self.tells_labels = True  # the history has the labels of its messages
        self._history: list[Change] = []

    def deliver(
        self,
        message_id: str,
        *files: File,
        labels: frozenset[str] = frozenset({"INBOX"}),
        subject: str = "Invoice 17",
        received_at: datetime | None = None,
        in_history: bool = True,
        html: str = "",
    ) -> None:
        summary = MessageSummary(
            message_id=message_id,
            labels=labels,
            received_at=received_at or self.clock(),
            subject=subject,
            sender_address="billing@supplier.example",
            has_attachments=bool(files),
            version=str(self.next_version()),
            headers={},
        )
        self.mails[message_id] = StoredMail(summary, list(files), html)
        if in_history:
            self._record_history(message_id)

    def relabel(self, message_id: str, labels: frozenset[str]) -> None:
        mail = self.mails[message_id]
        changes = LabelChanges(labels - mail.summary.labels, mail.summary.labels - labels)
        mail.summary = replace(mail.summary, labels=labels, version=str(self.next_version()))
        self._record_history(message_id, changes)

    def _record_history(self, message_id: str, changes: LabelChanges | None = None) -> None:
        revision = str(len(self._history) + 1)
        labels = self.mails[message_id].summary.labels
        if not self.tells_labels:
            self._history.append(Change(ChangeKind.PRESENT, message_id, revision=revision))
            return
        summary = MessageSummary(message_id=message_id, labels=labels) if labels else None
        self._history.append(Change(ChangeKind.PRESENT, message_id, summary, revision, changes))

    def delete(self, message_id: str) -> None:
        del self.mails[message_id]
        self._history.append(Change(ChangeKind.REMOVED, message_id))

    async def list_folders(self, mailbox: Mailbox) -> Sequence[Folder]:
        await self._called("labels")
        return list(self.labels)

    async def list_changes(
        self, mailbox: Mailbox, scope: str, start_at: datetime, *, position: str | None, page_token: str | None
    ) -> ChangePage:
        if scope == "relist":
            return await self._relist(page_token, start_at, is_observed=mailbox.profile is Profile.OBSERVATION)
        if position is None:
            await self._called("profile")
            return ChangePage((), position=str(len(self._history)), needs_relist=True)
        await self._called("history")
        start = int(page_token or position)
        page = self._history[start : start + self.page_size]
        end = start + len(page)
        if end < len(self._history):
            return ChangePage(_fold_history(page), page_token=str(end))
        return ChangePage(_fold_history(page), position=str(end))

    async def _relist(self, page_token: str | None, start_at: datetime, *, is_observed: bool) -> ChangePage:
        await self._called("relist")
        ids = [
            message_id for message_id in reversed(self.mails) if is_observed or not self._is_old(message_id, start_at)
        ]
        start = int(page_token or 0)
        page = tuple(
            Change(
                ChangeKind.PRESENT,
                message_id,
                received_before=start_at if self._is_old(message_id, start_at) else None,
            )
            for message_id in ids[start : start + self.page_size]
        )
        end = start + self.page_size
        return ChangePage(page, page_token=str(end)) if end < len(ids) else ChangePage(page, position="done")

    def _is_old(self, message_id: str, start_at: datetime) -> bool:
        received_at = self.mails[message_id].summary.received_at
        return received_at is None or received_at < start_at

    async def list_modified(self, mailbox: Mailbox, since: datetime) -> SummaryPage:
        raise AssertionError("Gmail has no hint list")

    async def list_received(self, mailbox: Mailbox, folder_id: str, since: datetime, until: datetime) -> SummaryPage:
        raise AssertionError("Gmail has no list by folder")


def _fold_history(changes: Sequence[Change]) -> tuple[Change, ...]:
    """The last change of each message, with the labels of all: as Gmail's client folds a page."""
    folded: dict[str, Change] = {}
    for change in changes:
        before = folded.pop(change.message_id, None)
        labels = change.label_changes
        if before is not None and labels is not None:
            earlier = before.label_changes
            labels = earlier and LabelChanges(earlier.added | labels.added, earlier.removed | labels.removed)
        folded[change.message_id] = replace(change, label_changes=labels)
    return tuple(folded.values())

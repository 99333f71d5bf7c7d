"""What the handlers, the worker's loops and the API ask for."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ingestion.domain.document import DocumentLease, DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.lanes import Lane
from ingestion.domain.layout_template import LayoutTemplate, Lesson, StoredTemplate, TemplateId
from ingestion.domain.model_answer import ModelReply, PageEvidence
from ingestion.domain.model_question import ModelQuestion
from ingestion.domain.page_picture import DrawnPage
from ingestion.domain.review import Review
from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.trade import Direction, Trade
from ingestion.domain.transcript import Transcript
from mailroom_common.events import AttachmentStored


class SuperfluousBlob(NamedTuple):
    """A duplicate's blob: the same bytes are kept at `kept_key`, as far as the rows know."""

    key: str
    kept_key: str


class IntakeStore(Protocol):
    async def record_attachment(self, stored: AttachmentStored, lane: Lane = Lane.LIVE) -> SuperfluousBlob | None:
        """Record an attachment and its document, in one transaction; a record that comes again changes nothing.

        Returns:
            the blob that nobody needs any more, where this is a duplicate.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RereadFilter:
    """Final documents of a tenant; None matches any. `reason` is a skip or review reason."""

    doc_source_id: str | None = None
    status: str | None = None
    reason: str | None = None
    reader: str | None = None
    except_reader: str | None = None
    created_since: datetime | None = None
    created_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class RereadPage:
    """`next_after` is where the next page begins, None after the last one."""

    matching: int
    requested: int
    next_after: int | None


class Rereads(Protocol):
    """Requests to read final documents again; a document is read again once for each `replay_id`."""

    async def request_by_attachment(self, stored: AttachmentStored, replay_id: str) -> bool:
        """False when the attachment was never recorded.

        Raises:
            Rejected: it is another tenant's, or another doc source's, than the record says.
        """
        ...

    async def request_from_copy(self, stored: AttachmentStored) -> None:
        """Have the document of this attachment, whose blob is a good copy, read anew unless it was read: once for each
        copy, and also where it is being read at this moment. Raises as `request_by_attachment` does."""
        ...

    async def has_content(self, doc_source_id: str, content_sha256: str) -> bool:
        """Whether the doc source has a document with this content."""
        ...

    async def request_document(self, tenant_id: str, document_id: str, replay_id: str) -> bool:
        """False when the tenant has no such document."""
        ...

    async def count_documents(self, tenant_id: str, wanted: RereadFilter, replay_id: str | None) -> int: ...

    async def request_page(
        self, tenant_id: str, wanted: RereadFilter, replay_id: str, *, after: int, limit: int
    ) -> RereadPage:
        """The next documents that match, in the order in which they were recorded."""
        ...


class DocumentLeases(Protocol):
    """Claims on documents. Where a lease is asked for, another holder of it makes the answer False or None."""

    async def claim_document(self, lanes: Sequence[Lane] = ...) -> DocumentLease | None:
        """From the first of the lanes that has one."""
        ...

    async def read_seconds_until_due(self, lanes: Iterable[Lane] = ...) -> float | None:
        """Seconds until a document may be claimed, negative when it may be now; None when none waits."""
        ...

    async def renew_lease(self, lease: DocumentLease) -> bool: ...

    async def finish_document(self, lease: DocumentLease, outcome: DocumentOutcome) -> DocumentOutcome | None:
        """Make the outcome final and emit the result of every attachment of the document, in one transaction. An
        outcome that equals the former one repeats the former results.

        Returns:
            the outcome that the document has then: a person's decision stands, and an account that is new for its
            supplier puts it to review.
        """
        ...

    async def release_document(
        self, lease: DocumentLease, *, not_before: datetime, error: str, count_attempt: bool
    ) -> bool:
        """Let the document wait for another attempt. `count_attempt` False: this one says nothing about it."""
        ...

    async def list_copies(self, lease: DocumentLease) -> Sequence[str]:
        """Keys under which other attachments of the document were uploaded; most of these blobs are deleted."""
        ...

    async def reserve_archive_path(self, lease: DocumentLease, paths: Iterable[str]) -> str | None:
        """The path that an earlier attempt reserved, else the first that no other document has; None when the lease is
        lost, or all are taken."""
        ...


class PictureReader(Protocol):
    def read_pictures(
        self, file: Path, transcript: Transcript, *, password: str | None = None
    ) -> AsyncGenerator[Transcript, None]:
        """The transcript with what OCR reads on the first page that is a picture, then with what it reads on all.

        Raises:
            OCRBusy: no process is free for it.
            UnreadableFile, ParserLimitReached, ParserCrashed: as `Transcriber`.
        """
        ...


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A blob as a file of our own. `content_type` is what its bytes are, None for nothing that Mailroom reads."""

    path: Path
    sha256: str
    content_type: str | None


class DocumentBlobs(Protocol):
    def fetch_blob(self, key: str) -> AbstractAsyncContextManager[FetchedFile]:
        """The blob as a file for the length of the block.

        Raises:
            BlobNotFound, Unavailable
        """
        ...

    async def write_archive_copy(self, file: FetchedFile, path: str, *, metadata: Mapping[str, str]) -> None:
        """
        Raises:
            Unavailable
            Rejected: the store never takes this copy.
        """
        ...

    async def compute_sha256(self, key: str) -> str | None:
        """Of the bytes that the store gives now, which are read for it; None where there is no such blob."""
        ...

    async def delete_blob(self, key: str) -> None: ...

    async def has_blob(self, key: str) -> bool: ...


class Transcriber(Protocol):
    async def transcribe_file(self, file: Path, *, password: str | None = None) -> Transcript:
        """
        Raises:
            UnreadableFile, ParserLimitReached, ParserCrashed: as `ParserPool.run_reader`.
        """
        ...


class DocumentClassifier(Protocol):
    async def classify_transcript(self, transcript: Transcript) -> Classification: ...


class FieldExtractor(Protocol):
    async def extract_fields(self, transcript: Transcript) -> Extraction: ...


class TemplateReader(Protocol):
    """Templates in the parser process: all of it is untrusted text."""

    async def measure_layout(self, transcript: Transcript) -> Sequence[int]:
        """The features of its layout; none where no template is for it."""
        ...

    async def read_by_templates(
        self, transcript: Transcript, extraction: Extraction, templates: Sequence[StoredTemplate]
    ) -> Extraction | None:
        """What the first template that fits makes of the general rules' reading; None where none fits."""
        ...

    async def learn_template(
        self, transcript: Transcript, lesson: Lesson, former: LayoutTemplate | None
    ) -> LayoutTemplate | None:
        """None where the document teaches nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentReaders:
    """What reads one document, and no other: the next one gets readers of its own. `templates` None: it has none."""

    transcriber: Transcriber
    classifier: DocumentClassifier
    extractor: FieldExtractor
    templates: TemplateReader | None = None


class Templates(Protocol):
    """What a tenant's documents have taught."""

    async def has_templates(self, tenant_id: str) -> bool: ...

    async def find_templates(self, tenant_id: str, features: Sequence[int]) -> Sequence[StoredTemplate]:
        """Those of layouts that are alike, the likest first; a few."""
        ...


class Lessons(Protocol):
    """Decided documents that a template is to be learned from."""

    async def claim_lesson(self) -> Lesson | None:
        """Claimed again after a while unless it is finished."""
        ...

    async def finish_lesson(
        self, lesson: Lesson, learned: LayoutTemplate | None, *, former: TemplateId | None = None
    ) -> None:
        """Store what it taught, in the place of `former`. A decision that was taken meanwhile is another lesson."""
        ...


class LanguageModel(Protocol):
    """`api` is a label of metrics, `name` says which model read a document."""

    api: str
    name: str

    async def ask(self, question: ModelQuestion) -> ModelReply:
        """Tries again what may pass within the time of a document; what fails for good is said in the reply."""
        ...


class ModelBudget(Protocol):
    async def reserve_tokens(
        self, tenant_id: str, day: date, tokens: int, cost: float, *, day_tokens: int, day_cost: float | None
    ) -> bool:
        """False when the tenant would have used more than a day's tokens or cost, those of calls under way included."""
        ...

    async def return_tokens(self, tenant_id: str, day: date, tokens: int, cost: float) -> None:
        """What was reserved and not used."""
        ...


class PageChecker(Protocol):
    async def check_invoice(self, transcript: Transcript, invoice: Invoice) -> PageEvidence:
        """
        Raises:
            ParserLimitReached, ParserCrashed, UnreadableFile: as `Transcriber`.
        """
        ...

    async def check_trades(self, transcript: Transcript, trades: Sequence[Trade]) -> list[frozenset[str]]:
        """For each trade the names of fields whose value is not on the page. Raises as `check_invoice`."""
        ...


class Channel(StrEnum):
    """What a process can wait for. A signal says that there may be something to see, never what."""

    DOCUMENT_DUE = "ingestion_document_due"  # a document may be claimable
    EVENT_UNNUMBERED = "ingestion_event_unnumbered"  # a document event has no number yet
    EVENT_NUMBERED = "ingestion_event_numbered"  # a document event has one: streams may look
    TRADES_CHANGED = "ingestion_trades_changed"  # another document made something else of a document's trades


class ChannelSignals(Protocol):
    def count_signals(self, channel: Channel) -> int:
        """How often the channel was signalled. Read it before looking, and wait for more than it afterwards."""
        ...

    async def wait_for_signal(self, channel: Channel, *, beyond: int, timeout_s: float) -> None:
        """Until the channel was signalled more often than `beyond`, or the time is up."""
        ...


@dataclass(frozen=True, slots=True)
class NumberedEvent:
    seq: int
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventLogRange:
    """What the event log holds for a tenant: what is at or below `deleted_seq` may be gone, and `newest_seq` is its own
    newest event, else `deleted_seq`. The newest number of all would tell it how many events the others have."""

    newest_seq: int
    deleted_seq: int


class EventLog(Protocol):
    async def assign_numbers(self) -> int:
        """Number a batch of events that have no number yet; how many it were."""
        ...

    async def delete_events(self, *, older_than: timedelta) -> int:
        """Delete a batch of old events; how many it were."""
        ...

    async def read_range(self, tenant_id: str) -> EventLogRange: ...

    async def list_events(self, tenant_id: str, *, after: int, limit: int) -> Sequence[NumberedEvent]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilter:
    """A document has to match all that is given. `text` and `supplier` are words, in any order."""

    doc_source_id: str | None = None
    status: str | None = None
    content_sha256: str | None = None
    profile: str | None = None
    document_type: str | None = None
    reason: str | None = None
    supplier: str | None = None
    number: str | None = None
    text: str | None = None
    amount_from: Decimal | None = None
    amount_to: Decimal | None = None
    currency: str | None = None
    issued_from: date | None = None
    issued_to: date | None = None
    possible_duplicate: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredContent:
    """`copy_keys` are those of its further attachments: after a restore one of these may be what is left."""

    content_type: str
    content_sha256: str
    size_bytes: int
    blob_key: str
    copy_keys: Sequence[str]
    filename: str | None


class DocumentCatalog(Protocol):
    """Documents as the API shows them (`domain/views.py`): always those of one tenant."""

    async def list_documents(
        self, tenant_id: str, document_filter: DocumentFilter, *, before: int | None, limit: int
    ) -> tuple[Sequence[dict[str, Any]], int | None]:
        """The newest first, and the position where the next page begins."""
        ...

    async def find_document(self, tenant_id: str, document_id: str) -> dict[str, Any] | None: ...

    async def find_content(self, tenant_id: str, document_id: str) -> StoredContent | None: ...


class StaleVersion(Exception):
    """The document has another version by now than the one that the reviewer saw."""

    def __init__(self, version: int) -> None:
        super().__init__(f"the document has version {version} by now")
        self.version = version


class DocumentReviews(Protocol):
    """What people decide about documents, and what became of those: always of one tenant."""

    async def decide_document(self, tenant_id: str, document_id: str, review: Review) -> bool:
        """Make the decision the document's outcome and emit the result of each of its attachments, in one transaction.
        False when the tenant has no such document.

        Raises:
            StaleVersion: it was decided, or read again, since the reviewer looked.
            ReviewRefused: it is not read yet, or the decision makes no sense for it.
        """
        ...

    async def list_history(
        self, tenant_id: str, document_id: str, *, before: int | None, limit: int
    ) -> tuple[Sequence[dict[str, Any]], int | None] | None:
        """The newest first, and the position where the next page begins. None when the tenant has no such document."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeFilter:
    """A trade of the ledger has to match all that is given."""

    document_id: str | None = None
    doc_source_id: str | None = None
    state: str | None = None
    isin: str | None = None
    traded_from: date | None = None
    traded_to: date | None = None
    changed_since: datetime | None = None
    order_match: str | None = None
    order_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeDecision:
    """What a person says about a trade and another one: `is_same`, or two. `other_trade_id` None: the one that the
    ledger holds it against. `version` is the one that the person saw."""

    is_same: bool
    other_trade_id: str | None
    version: int
    comment: str | None
    reviewer: str | None
    api_key_id: str


class TradeDecisionRefused(Exception):
    """The decision makes no sense for this trade; the message says why."""


class TradeLedger(Protocol):
    """The trades of a tenant as the API shows them (`domain/trade_views.py`)."""

    async def list_trades(
        self, tenant_id: str, wanted: TradeFilter, *, before: int | None, limit: int
    ) -> tuple[Sequence[dict[str, Any]], int | None]:
        """The newest first, by the day or the change that is asked for, else as they were read; and the position where
        the next page begins."""
        ...

    async def find_trade(self, tenant_id: str, trade_id: str) -> dict[str, Any] | None:
        """With all statements of the trade, and what was decided about them."""
        ...

    async def decide_trade(self, tenant_id: str, trade_id: str, decision: TradeDecision) -> bool:
        """Keep the decision, and judge anew all that are alike. False when the tenant has no such trade.

        Raises:
            StaleVersion: it has changed since the person looked.
            TradeDecisionRefused
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOrder:
    """A pending order as it is sent; `external_id` names it, whatever it says."""

    external_id: str
    direction: Direction
    quantity: Decimal
    ordered_on: date
    valid_until: date | None = None
    isin: str | None = None
    wkn: str | None = None
    ticker: str | None = None
    account: str | None = None
    limit_price: Decimal | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFilter:
    """A pending order has to match all that is given."""

    state: str | None = None
    external_id: str | None = None
    isin: str | None = None


@dataclass(frozen=True, slots=True)
class StoredOrders:
    """How many orders were new, said something else than before, and were there already."""

    created: int
    updated: int
    unchanged: int


class PendingOrders(Protocol):
    """Pending orders as the API shows them (`domain/order_views.py`): always those of one tenant."""

    async def store_orders(self, tenant_id: str, orders: Sequence[NewOrder]) -> StoredOrders:
        """All or none; an order that is there already gets what is said now."""
        ...

    async def list_orders(
        self, tenant_id: str, wanted: OrderFilter, *, before: int | None, limit: int
    ) -> tuple[Sequence[dict[str, Any]], int | None]:
        """The newest first, and the position where the next page begins."""
        ...

    async def find_order(self, tenant_id: str, order_id: str) -> dict[str, Any] | None: ...

    async def find_external(self, tenant_id: str, external_id: str) -> dict[str, Any] | None: ...

    async def delete_order(self, tenant_id: str, order_id: str) -> dict[str, Any] | None:
        """The order as it was; its trades are matched anew. None when the tenant has no such order."""
        ...

    async def name_order(self, tenant_id: str, trade_id: str, order_id: str | None, *, version: int) -> bool:
        """A person says of which order a trade is; None: that is found by the rules again. False when the tenant has no
        such trade.

        Raises:
            StaleVersion: it has changed since the person looked.
            TradeDecisionRefused: there is no such order, or it is none of this trade.
        """
        ...


class OrderMatcher(Protocol):
    async def match_next(self) -> bool:
        """Hold the orders and trades of a security against each other of which something changed. False when there is
        none."""
        ...


class TradeAnnouncements(Protocol):
    async def announce_next(self) -> bool:
        """Tell the results of a document again whose trades another one made duplicates, or took back. False when there
        is none."""
        ...


class PageDrawing(Protocol):
    async def draw_page(self, tenant_id: str, file: Path, page: int) -> DrawnPage | None:
        """The page, counted from 0; None where the file has no such page.

        Raises:
            UnreadableFile, ParserLimitReached, ParserCrashed: as `Transcriber`.
            ParserUnconfined: no process may open a file here.
            Unavailable: too many pages are waited for.
        """
        ...


class DocumentPasswords(Protocol):
    async def give_password(self, tenant_id: str, document_id: str, password: str, *, api_key_id: str) -> bool:
        """Keep the password sealed until the document was read with it, which begins as soon as a worker is free.
        False when the tenant has no such document.

        Raises:
            NoPasswordNeeded: the document is not locked, or not read yet.
            TooManyPasswords
        """
        ...


class UnusedPasswords(Protocol):
    async def forget_old_passwords(self) -> int:
        """Forget a batch of passwords that no reading used in time; how many it were."""
        ...


class ManualUploads(Protocol):
    """Uploads by hand, from before their first byte until their attachment is recorded."""

    async def record_upload_start(self, attachment_id: str, blob_key: str) -> None: ...

    async def finish_upload(self, attachment_id: str) -> str:
        """Once the attachment is recorded: the id of its document."""
        ...


class SweptUpload(Enum):
    """What became of an upload that is a day old."""

    DELETED = auto()
    RECORDED = auto()  # it is an attachment, and its blob stays
    POSTPONED = auto()  # the store did not delete its blob


class UnfinishedUploads(Protocol):
    async def sweep_upload(self) -> SweptUpload | None:
        """Delete the blob of one upload that was cut off long ago. None when there is none."""
        ...


class SupplierBackfill(Protocol):
    async def write_missing_keys(self) -> int:
        """Write what suppliers are known by into a batch of documents that were completed without; how many it were."""
        ...


class EventTickets(Protocol):
    async def issue_ticket(self, tenant_id: str) -> tuple[str, datetime]:
        """A new ticket and when it expires."""
        ...

    async def redeem_ticket(self, ticket: str) -> str | None:
        """The tenant of a valid ticket, which is then used up; None for any other."""
        ...

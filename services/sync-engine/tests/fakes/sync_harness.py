"""A sync engine around real tables: one doc source, a fake mailbox, a clock that the test moves."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import asyncpg
from fake_containers import FakeContainers
from fake_mailbox import NOON, FakeClock, FakeGmail, FakeMailbox, FakeOutlook
from migrated_databases import migrate_once
from outside_job import APP_NAME, STUCK_TIMEOUT

from mailroom_common.blobs.folder import open_folder
from mailroom_common.blobs.store import BlobStore
from mailroom_common.events import (
    Access,
    AttachmentStored,
    ConnectionEvent,
    DocSource,
    DocSourceState,
    Event,
    IngestionResult,
    MailEvent,
    Profile,
    ResultStatus,
    SourceFilter,
    SyncReason,
)
from mailroom_common.kafka.codec import Codec
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import open_pool
from mailroom_common.providers.ports import MailReader
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL, CONNECTION_EVENTS, MAIL_EVENTS, Topic
from sync_engine.adapters.ingestion_states import PgIngestionStates
from sync_engine.adapters.messages import PgMessages
from sync_engine.adapters.repositories import open_repositories
from sync_engine.domain.ingestion_state import StateIdForm
from sync_engine.domain.run_outcomes import RunCompleted, RunOutcome
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.handlers.run_sync import RunSync
from sync_engine.ports import Repositories, SyncStates

START = NOON - timedelta(hours=1)


def doc_source(
    provider: str = "outlook",
    profile: Profile = Profile.INVOICE,
    *,
    doc_source_id: str | None = None,
    folders: Sequence[str] = (),
    rules: SourceFilter | None = None,
    start_at: datetime | None = START,
) -> DocSource:
    return DocSource(
        event_id=str(uuid4()),
        occurred_at=NOON,
        tenant_id="acme",
        doc_source_id=doc_source_id or str(uuid4()),
        version=1,
        provider=provider,
        profile=profile,
        access=Access.DELEGATED,
        address="ap@acme.example",
        provider_user_id="user-1",
        state=DocSourceState.ACTIVE,
        folders=list(folders),
        start_at=start_at,
        filter=rules or SourceFilter(),
        grant_generation=1,
    )


@dataclass(slots=True)
class Engine:
    pool: asyncpg.Pool
    outbox: Outbox
    codec: Codec
    ingestion_states: PgIngestionStates
    repositories: Repositories
    blobs: BlobStore
    blob_folder: Path
    mailbox: FakeMailbox
    clock: FakeClock
    source: DocSource
    containers: FakeContainers
    timings: SyncTimings = field(default_factory=SyncTimings)
    provider: MailReader | None = None  # instead of the fake mailbox

    def sync_engine(self, *, is_configured: bool = True, state_id_form: StateIdForm = StateIdForm.DEFAULT) -> RunSync:
        provider = self.provider or self.mailbox
        providers: dict[str, MailReader] = {self.source.provider: provider} if is_configured else {}
        return RunSync(
            providers=providers,
            repositories=self.repositories,
            blobs=self.blobs,
            containers=self.containers,
            clock=self.clock,
            timings=self.timings,
            state_id_form=state_id_form,
        )

    @property
    def states(self) -> SyncStates:
        return self.repositories.states

    async def run_sync(self, *reasons: SyncReason) -> RunOutcome:
        return await self.sync_engine().sync_mailbox(
            self.source, reasons=frozenset(reasons or {SyncReason.NOTIFICATION})
        )

    async def complete_run(self, *reasons: SyncReason) -> RunCompleted:
        outcome = await self.run_sync(*reasons)
        assert isinstance(outcome, RunCompleted), outcome
        return outcome

    async def change_source(self, **changes: object) -> None:
        """A new version of the source, as the directory would bring it to the worker."""
        self.source = replace(self.source, version=self.source.version + 1, **changes)  # type: ignore[arg-type]
        await self.states.raise_version_and_read_state(self.source)

    async def change_behind_its_back(self, **changes: object) -> None:
        """As `change_source`, of which the run under way knows nothing."""
        before = self.source
        await self.change_source(**changes)
        self.source = before

    async def read_outbox(self, topic: Topic) -> list[Event]:
        rows = await self.pool.fetch(
            "select value from sync_engine.outbox where topic = $1 and key like $2 || '%' order by id",
            topic.name,
            self.source.doc_source_id,
        )
        return [self.codec.decode(topic, row["value"]) for row in rows]

    async def read_attachments(self) -> list[AttachmentStored]:
        """Of both lanes: mail of before the doc source, which a first sync or re-list finds, is on the second one."""
        events = [*await self.read_outbox(ATTACHMENTS), *await self.read_outbox(ATTACHMENTS_BACKFILL)]
        return [event for event in events if isinstance(event, AttachmentStored)]

    async def collected_mails(self) -> list[str]:
        return sorted(event.message_id for event in await self.read_attachments())

    async def read_mail_events(self) -> list[MailEvent]:
        return [event for event in await self.read_outbox(MAIL_EVENTS) if isinstance(event, MailEvent)]

    async def read_connection_events(self) -> list[ConnectionEvent]:
        return [event for event in await self.read_outbox(CONNECTION_EVENTS) if isinstance(event, ConnectionEvent)]

    async def record_result(self, attachment: AttachmentStored, **of_result: object) -> None:
        """Completed, unless the test says otherwise."""
        result = IngestionResult(
            event_id=str(uuid4()),
            occurred_at=self.clock(),
            tenant_id=attachment.tenant_id,
            doc_source_id=attachment.doc_source_id,
            attachment_id=attachment.attachment_id,
            document_id=attachment.attachment_id,
            message_id=attachment.message_id,
            status=ResultStatus.COMPLETED,
        )
        of_test = replace(result, **of_result)  # type: ignore[arg-type]  # a test names fields freely
        await PgMessages(self.pool, self.ingestion_states).record_result(of_test)

    async def read_rows(self, table: str) -> list[asyncpg.Record]:
        rows: list[asyncpg.Record] = await self.pool.fetch(
            f"select * from sync_engine.{table} where doc_source_id = $1",  # noqa: S608
            self.source.doc_source_id,
        )
        return rows

    async def read_row(self, table: str) -> asyncpg.Record:
        (row,) = await self.read_rows(table)
        return row

    async def read_skip_reasons(self) -> dict[str | None, str | None]:
        """What became of each part, by file name: None is stored."""
        return {row["filename"]: row["skip_reason"] for row in await self.read_rows("message_part")}

    def stored_blobs(self) -> set[str]:
        return {
            str(path.relative_to(self.blob_folder)) for path in self.blob_folder.glob("documents/*") if path.is_file()
        }


@asynccontextmanager
async def open_engine(
    database_url: str,
    blob_folder: Path,
    source: DocSource,
    mailbox: FakeMailbox | None = None,
    *,
    clock: FakeClock | None = None,
) -> AsyncIterator[Engine]:
    await migrate_once(database_url, "sync_engine")
    clock = mailbox.clock if mailbox else clock or FakeClock()
    default = FakeOutlook(clock) if source.provider == "outlook" else FakeGmail(clock)
    codec = Codec()
    outbox = Outbox("sync_engine", codec)
    async with (
        open_pool(database_url, application_name="tests", max_size=4) as pool,
        open_folder(str(blob_folder)) as blobs,
    ):
        states = PgIngestionStates(pool, app_name=APP_NAME, stuck_timeout=STUCK_TIMEOUT)
        yield Engine(
            pool=pool,
            outbox=outbox,
            codec=codec,
            ingestion_states=states,
            repositories=open_repositories(pool, outbox, clock, states),
            blobs=blobs,
            blob_folder=blob_folder,
            mailbox=mailbox or default,
            clock=clock,
            source=source,
            containers=FakeContainers(blob_folder.parent),
        )

"""`mailroom replay`: backfills, on a lane of their own, so that live mail does not wait for them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from mailroom_cli import options
from mailroom_cli.kafka_access import list_partitions, load_schemas, open_consumer, open_producer
from mailroom_cli.options import AsJSON, DocSources, DryRun, FromOffset, Partition, Rate, Since, Tenant, ToOffset, Until
from mailroom_cli.pacing import Pacer, Progress
from mailroom_cli.record_ranges import RecordSelection, find_ranges
from mailroom_cli.replay_documents import (
    DocumentSelection,
    FinalStatus,
    count_documents,
    replay_documents,
    require_known_reader,
)
from mailroom_cli.replay_mail_events import MailEventsReplay, ReplayedMailEvents
from mailroom_cli.replay_mailboxes import MailboxReplay, describe_mailboxes, relist_mailboxes
from mailroom_cli.replay_positions import ReplayPositions, compute_digest, replay_group
from mailroom_cli.replay_topics import (
    AttachmentsReplay,
    NotificationsReplay,
    RecordFilter,
    RecordSorter,
    ReplayedTopic,
    SourceLookup,
    count_records,
    replay_records,
)
from mailroom_cli.site_api import SiteAPI, load_kafka_settings, open_site_api
from mailroom_cli.source_views import DocSourceId, find_source_id
from mailroom_cli.terminal import print_line
from mailroom_common.errors import Rejected
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.headers import REPLAY_ID_PATTERN
from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import MAIL_EVENTS

app = typer.Typer(
    name="replay",
    no_args_is_help=True,
    help="Backfills: sync, list or read again. Nothing is filed twice. docs/replay.md says which one to take.",
)

OneSource = Annotated[
    str | None,
    typer.Option("--doc-source", help="Only of this one: its id, the beginning of one, or the mailbox's address."),
]
ReplayId = Annotated[
    str | None,
    typer.Option("--replay-id", help="Names the replay; the same name goes on where it ended. Default: a new one."),
]
BuildReplay = Callable[[str, RecordFilter, SourceLookup], ReplayedTopic]

_EXAMPLES = """Examples:

  mailroom replay {name} --since 2h --dry-run

  mailroom replay {name} --since 2026-11-28T09:00Z --until 2026-11-28T12:00Z --tenant acme

  mailroom replay {name} --all --rate 200 --replay-id after-restore

  mailroom replay {name} --partition 7 --from-offset 1200 --to-offset 1300
"""


def _add_topic_command(name: str, build: BuildReplay, *, default_rate: float, description: str) -> None:
    """The commands that go from topic to topic choose their records alike."""

    @app.command(name, help=description, epilog=_EXAMPLES.format(name=name))
    def replay_topic(
        since: Since = None,
        until: Until = None,
        everything: Annotated[bool, typer.Option("--all", help="All that Kafka still has.")] = False,
        partition: Partition = None,
        from_offset: FromOffset = None,
        to_offset: ToOffset = None,
        tenant: Tenant = None,
        doc_source: DocSources = [],  # noqa: B006  # typer reads it and never writes it
        rate: Rate = default_rate,
        replay_id: ReplayId = None,
        dry_run: DryRun = False,
        as_json: AsJSON = False,
    ) -> None:
        selection = _select(since, until, everything, partition, from_offset, to_offset)
        wanted = RecordFilter(tenant, frozenset(doc_source))
        request = _TopicRequest(build, selection, wanted, rate, _check_id(replay_id), dry_run, as_json)
        options.run(request.run())


_add_topic_command(
    "notifications",
    NotificationsReplay,
    default_rate=20,
    description="Sync the mailboxes again that providers notified us of: one full run for each doc source.\n\n"
    "Takes mail that was missed since; what is stored stays. Reads `notifications`, writes `sync-requests-backfill`.",
)
_add_topic_command(
    "attachments",
    AttachmentsReplay,
    default_rate=50,
    description="Have stored attachments read again by the readers that run now; a former result stands until that "
    "ends.\n\nAn attachment that ingestion never recorded is recorded. Reads `attachments` and "
    "`attachments-backfill`, writes `attachments-backfill`.",
)


_MAILBOX_EXAMPLES = """Examples:

  mailroom replay mailbox 5d1cbe51-… --from 2026-11-01 --dry-run

  mailroom replay mailbox 5d1cbe51-… --from 2026-11-01 --wait

  mailroom replay mailbox 5d1cbe51-… --from 2026-01-01 --start-at 2026-01-01      # a key of the role admin
"""


@app.command("mailbox", epilog=_MAILBOX_EXAMPLES)
def replay_mailbox(
    doc_source_ids: Annotated[
        list[str], typer.Argument(metavar="SOURCE…", help="Ids, their beginnings, or addresses.")
    ],
    relist_from: Annotated[datetime, typer.Option("--from", help="Mail received since then.", **options.MOMENT)],
    start_at: Annotated[
        datetime | None,
        typer.Option("--start-at", help="Move the doc source's own limit back to this time.", **options.MOMENT),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Until each mailbox was listed, at most --timeout.")] = False,
    timeout_s: Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait.")] = 3600,
    rate: Rate = 1,
    dry_run: DryRun = False,
    as_json: AsJSON = False,
) -> None:
    """List mailboxes again from a date at the provider, and take what is not stored.

    Calls the API: MAILROOM_API_URL (default MAILROOM_PUBLIC_URL) and MAILROOM_API_KEY, of the role operator.
    """

    async def work() -> list[dict[str, Any]]:
        with open_site_api() as api:
            ids = tuple(find_source_id(api, name) for name in doc_source_ids)
            request = MailboxReplay(ids, relist_from, start_at, timeout_s if wait else None)
            return describe_mailboxes(api, request) if dry_run else await relist_mailboxes(api, request, Pacer(rate))

    found = options.run(work())
    if as_json:
        options.print_json_line(found)
    else:
        for mailbox in found:
            print_line("  ".join(f"{name}: {value}" for name, value in mailbox.items() if value is not None))
        verb = "would be listed" if dry_run else "asked for"
        print_line(f"{len(found)} {'mailbox' if len(found) == 1 else 'mailboxes'} {verb}")


_DOCUMENT_EXAMPLES = """Examples:

  mailroom replay documents --reader layout-rules/3 --dry-run

  mailroom replay documents --status needs_review --reason no_text_layer

  mailroom replay documents --except-reader layout-rules/4 --doc-source ap@company.example --rate 5
"""


@app.command("documents", epilog=_DOCUMENT_EXAMPLES)
def replay_documents_command(
    status: Annotated[FinalStatus | None, typer.Option("--status", help="Only in this final status.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Only with this skip or review reason.")] = None,
    reader: Annotated[
        str | None, typer.Option("--reader", help="Only read by this reader, as `documents show` has it.")
    ] = None,
    except_reader: Annotated[str | None, typer.Option("--except-reader", help="Only not read by this one.")] = None,
    doc_source: OneSource = None,
    since: Since = None,
    until: Until = None,
    everything: Annotated[bool, typer.Option("--all", help="All documents of the tenant.")] = False,
    rate: Rate = 20,
    replay_id: ReplayId = None,
    dry_run: DryRun = False,
    as_json: AsJSON = False,
) -> None:
    """Have documents of the key's tenant read again, by status, reason or reader; results stand until that ends.

    Calls the API: MAILROOM_API_URL (default MAILROOM_PUBLIC_URL) and MAILROOM_API_KEY, of the role operator.
    """
    narrowing = (status, reason, reader, except_reader, doc_source, since, until)
    if not everything and all(value is None for value in narrowing):
        raise typer.BadParameter("say which: --status, --reason, --reader, --since, …; or --all")
    name = _check_id(replay_id)

    async def work() -> dict[str, Any]:
        with open_site_api() as api:
            selection = DocumentSelection(
                status=status,
                reason=reason,
                reader=reader,
                except_reader=except_reader,
                doc_source_id=_find_source_id(api, doc_source),
                created_since=since,
                created_before=until,
            )
            matching = count_documents(api, selection, name)
            # A replay that goes on may have had all of them read by a newer one.
            if reader is not None and replay_id is None and not matching:
                require_known_reader(api, reader, name)
            if dry_run:
                return {"replay_id": name, "matching": matching, "requested": 0}
            _announce(name)
            progress = Progress(matching, "documents")
            return {"replay_id": name, **await replay_documents(api, selection, name, Pacer(rate), progress)}

    found = options.run(work())
    if as_json:
        options.print_json_line(found)
    elif dry_run:
        print_line(f"{found['matching']} documents match; nothing was done")
    else:
        print_line(f"{found['requested']} of {found['matching']} documents are read again ({name})")


_MAIL_EVENT_EXAMPLES = """Examples:

  mailroom replay mail-events --since 30d --dry-run

  mailroom replay mail-events --since 2026-11-01 --until 2026-11-08 --doc-source ap@company.example --rate 200
"""


@app.command("mail-events", epilog=_MAIL_EVENT_EXAMPLES)
def replay_mail_events(
    since: Since = None,
    until: Until = None,
    everything: Annotated[bool, typer.Option("--all", help="All that sync-engine still has.")] = False,
    doc_source: OneSource = None,
    rate: Rate = 50,
    replay_id: ReplayId = None,
    dry_run: DryRun = False,
    as_json: AsJSON = False,
) -> None:
    """Send the events of observed mailboxes again, with the ids that they had: for whoever lost some.

    Of the key's tenant, by the time at which they were recorded. Calls the API: MAILROOM_API_URL (default
    MAILROOM_PUBLIC_URL) and MAILROOM_API_KEY, of the role viewer. Writes `mail-events`.
    """
    if not everything and all(value is None for value in (doc_source, since, until)):
        raise typer.BadParameter("say which: --since, --until, --doc-source; or --all")
    name = _check_id(replay_id)
    settings = load_kafka_settings()

    async def work() -> int:
        with open_site_api() as api:
            selection = ReplayedMailEvents(doc_source_id=_find_source_id(api, doc_source), since=since, until=until)
            replay = MailEventsReplay(settings, api, selection, name, datetime.now(UTC))
            if dry_run:
                return await replay.count_events()
            _announce(name)
            progress = Progress(None, "events")
            await replay.send_events(Pacer(rate), progress)
            return progress.done

    count = options.run(work())
    if as_json:
        options.print_json_line({"replay_id": name, "dry_run": dry_run, "target": MAIL_EVENTS.name, "records": count})
    else:
        verb = "would be sent" if dry_run else "were sent"
        print_line(f"{count:,} events {verb} to {MAIL_EVENTS.name} ({name})")


def _select(
    since: datetime | None,
    until: datetime | None,
    everything: bool,
    partition: int | None,
    from_offset: int | None,
    to_offset: int | None,
) -> RecordSelection:
    is_narrowed = not (since is None and until is None and partition is None)
    if is_narrowed == everything:
        raise typer.BadParameter("say which records: either --since, --until, --partition with offsets, or --all")
    return RecordSelection(since=since, until=until, partition=partition, from_offset=from_offset, to_offset=to_offset)


def _find_source_id(api: SiteAPI, name: str | None) -> DocSourceId | None:
    return None if name is None else find_source_id(api, name)


def _check_id(replay_id: str | None) -> str:
    name = replay_id or f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    if re.fullmatch(REPLAY_ID_PATTERN, name) is None:
        raise typer.BadParameter("a replay id has letters, digits, dots, dashes and underscores, at most 64")
    return name


def _announce(name: str) -> None:
    print_line(f"replay {name}: if it is interrupted, the same command with --replay-id {name} goes on", err=True)


@dataclass(frozen=True, slots=True)
class _TopicRequest:
    """A replay from topic to topic as it was asked for."""

    build: BuildReplay
    selection: RecordSelection
    wanted: RecordFilter
    rate: float
    replay_id: str
    is_dry_run: bool
    as_json: bool

    async def run(self) -> None:
        settings = load_kafka_settings()
        codec = Codec()
        await load_schemas(settings, codec)
        sources = DocSourceDirectory(settings, codec, client_id="mailroom-cli")
        try:
            await sources.load_sources()
            await self._replay_with(settings, codec, sources)
        finally:
            await sources.close()

    async def _replay_with(self, settings: KafkaSettings, codec: Codec, sources: DocSourceDirectory) -> None:
        replay = self.build(self.replay_id, self.wanted, sources)
        positions = ReplayPositions(settings, self.replay_id, self._compute_digest(replay))
        group = None if self.is_dry_run else replay_group(settings.topic_prefix, self.replay_id)
        left = {} if self.is_dry_run else await positions.read_positions()
        async with open_consumer(settings, group=group) as consumer:
            if not left:
                for topic in replay.topics:
                    partitions = await list_partitions(settings, settings.topic_prefix + topic.name)
                    left |= await find_ranges(consumer, partitions, self.selection)
            progress = Progress(sum(place.count for place in left.values()), "records")
            sorter = RecordSorter(replay, codec, settings.topic_prefix, progress)
            if self.is_dry_run:
                await count_records(consumer, left, sorter, progress)
            else:
                _announce(self.replay_id)
                async with open_producer(settings, codec) as producer:
                    await replay_records(
                        consumer,
                        producer,
                        replay,
                        left,
                        positions=positions,
                        sorter=sorter,
                        pacer=Pacer(self.rate),
                        progress=progress,
                    )
        self._report(replay, progress, sorter.unreadable)

    def _compute_digest(self, replay: ReplayedTopic) -> str:
        topics: Sequence[object] = [topic.name for topic in replay.topics]
        return compute_digest([*topics, self.wanted.tenant_id, *sorted(self.wanted.doc_source_ids)])

    def _report(self, replay: ReplayedTopic, progress: Progress, unreadable: Sequence[str]) -> None:
        if self.as_json:
            options.print_json_line(
                {
                    "replay_id": self.replay_id,
                    "dry_run": self.is_dry_run,
                    "target": replay.target.name,
                    "records": progress.done,
                    "counts": dict(progress.counts),
                    "unreadable": list(unreadable),
                }
            )
        else:
            print_line(progress.describe())
            verb = "would be sent" if self.is_dry_run else "were sent"
            print_line(f"{progress.counts['sent']:,} records {verb} to {replay.target.name} ({self.replay_id})")
        if unreadable:
            shown = ", ".join(unreadable[:10])
            raise Rejected(f"{len(unreadable)} records cannot be read and were left out: {shown}")

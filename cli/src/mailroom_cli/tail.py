"""`mailroom tail`: the records of a topic, decoded, as they come."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import typer
from aiokafka import AIOKafkaConsumer, TopicPartition

from mailroom_cli import options
from mailroom_cli.kafka_access import NamedTopic, find_topic, list_partitions, load_schemas, open_consumer
from mailroom_cli.options import AsJSON, DocSources, Since, Tenant, Until
from mailroom_cli.record_ranges import OffsetRange, RecordSelection, find_ranges, read_ranges
from mailroom_cli.record_view import view_record
from mailroom_cli.replay_topics import RecordFilter
from mailroom_cli.site_api import load_kafka_settings
from mailroom_cli.terminal import print_line
from mailroom_common.kafka.codec import Codec
from mailroom_common.settings import KafkaSettings

EXAMPLES = """Examples:

  mailroom tail attachments --follow

  mailroom tail ingestion-results --since 1h --tenant acme --json

  mailroom tail sync-requests --doc-source 5d1cbe51-… --last 5

  mailroom tail attachments.dlq --last 20
"""


def tail_topic(
    topic: Annotated[str, typer.Argument(help="A topic of `mailroom topics list`, or its `.dlq`.")],
    last: Annotated[int, typer.Option("--last", min=0, help="Without --since: so many of each partition.")] = 10,
    since: Since = None,
    until: Until = None,
    tenant: Tenant = None,
    doc_source: DocSources = [],  # noqa: B006  # typer reads it and never writes it
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    contents: Annotated[
        bool, typer.Option("--contents", help="Also subjects, addresses, file names and what was extracted.")
    ] = False,
    as_json: AsJSON = False,
) -> None:
    """Show the records of a topic, decoded; digests of secrets are never shown, and what mails say on request only.

    Joins no consumer group and changes nothing. Settings: MAILROOM_KAFKA_BOOTSTRAP and the other MAILROOM_KAFKA_ ones.
    """
    settings = load_kafka_settings()
    named = find_topic(topic, settings.topic_prefix)
    wanted = RecordFilter(tenant, frozenset(doc_source))
    selection = RecordSelection(since=since, until=until)

    async def work() -> None:
        codec = Codec()
        await load_schemas(settings, codec)
        async with open_consumer(settings) as consumer:
            async for raw in _read_records(consumer, settings, named, selection, last, follow):
                view = view_record(raw, named.topic, codec, shows_contents=contents)
                if _matches(view, wanted):
                    _print_view(view, as_json)

    options.run(work())


async def _read_records(
    consumer: AIOKafkaConsumer,
    settings: KafkaSettings,
    named: NamedTopic,
    selection: RecordSelection,
    last: int,
    follow: bool,
) -> AsyncIterator[Any]:
    """What was there by timestamp, and then what comes, as it comes."""
    partitions = await list_partitions(settings, settings.topic_prefix + named.name)
    ends: dict[TopicPartition, int] = await consumer.end_offsets(partitions)
    ranges = await find_ranges(consumer, partitions, selection)
    if selection.since is None:
        ranges = {tp: OffsetRange(max(found.start, found.end - last), found.end) for tp, found in ranges.items()}
    before = [raw async for _tp, records, _to in read_ranges(consumer, ranges) for raw in records]
    for raw in sorted(before, key=lambda record: record.timestamp):
        yield raw
    if follow and selection.until is None:
        consumer.assign(partitions)
        for tp, end in ends.items():
            consumer.seek(tp, max(end, ranges[tp].end) if tp in ranges else end)
        while True:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                for raw in records:
                    yield raw


def _matches(view: dict[str, Any], wanted: RecordFilter) -> bool:
    """A record that has no event, or none that can be read, is judged by its key alone."""
    event = view.get("event")
    if isinstance(event, dict):
        return wanted.matches(event["tenant_id"], event["doc_source_id"])
    doc_source_id = view["key"].partition(":")[0]
    return wanted.tenant_id is None and (not wanted.doc_source_ids or doc_source_id in wanted.doc_source_ids)


def _print_view(view: dict[str, Any], as_json: bool) -> None:
    if as_json:
        options.print_json_line(view)
        return
    print_line(f"{view['timestamp']}  {view['partition']}@{view['offset']}  {view['key']}")
    if "unreadable" in view:
        print_line(f"    unreadable: {view['unreadable']}")
    elif view["event"] is None:
        marks = {name: text for name, text in view["headers"].items() if name in ("resolves", "version")}
        print_line(f"    tombstone {marks or ''}".rstrip())
    elif isinstance(view["event"], dict):
        facts = (f"{name}={value}" for name, value in view["event"].items() if value not in (None, [], ""))
        print_line("    " + "  ".join(facts))
    else:
        print_line(f"    {view['event']}")

"""`mailroom dlq`: records that no retry could help, shown, sent again, or discarded."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from mailroom_cli import options
from mailroom_cli.dead_letters import (
    DeadLetter,
    Resolution,
    mark_dead_letter,
    read_dead_letters,
    retry_dead_letter,
    select_dead_letters,
)
from mailroom_cli.kafka_access import find_topic, load_schemas, open_consumer, open_producer
from mailroom_cli.options import AsJSON, DryRun
from mailroom_cli.record_view import view_record
from mailroom_cli.site_api import load_kafka_settings
from mailroom_cli.terminal import print_line
from mailroom_common.errors import Rejected
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import TOPICS, Topic

app = typer.Typer(name="dlq", no_args_is_help=True, help="Dead letters: records that no retry could help.")

Ids = Annotated[
    list[str], typer.Argument(metavar="ID…", help="As `mailroom dlq list` shows them: topic:partition:offset.")
]
OptionalIds = Annotated[list[str] | None, typer.Argument(metavar="[ID…]", help="As `mailroom dlq list` shows them.")]
OfTopic = Annotated[str | None, typer.Option("--topic", help="All open ones of this topic, instead of ids.")]

_LIST_EXAMPLES = """Examples:

  mailroom dlq list

  mailroom dlq list attachments --all --json
"""
_SHOW_EXAMPLES = "Example:\n\n  mailroom dlq show attachments:0:17"
_RETRY_EXAMPLES = """Examples:

  mailroom dlq retry attachments:0:17 --dry-run

  mailroom dlq retry --topic attachments
"""
_DISCARD_EXAMPLES = "Example:\n\n  mailroom dlq discard notifications:0:3 --dry-run"


@app.command("list", epilog=_LIST_EXAMPLES)
def list_dead_letters(
    topic: Annotated[str | None, typer.Argument(help="Only of this topic; default: of all.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that were retried or discarded.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Show the dead letters that nobody has dealt with: where each came from, and why it was put aside."""

    async def work() -> list[DeadLetter]:
        async with _open_desk() as desk:
            return [letter for chosen in _choose_topics(topic, desk) for letter in await desk.read_letters(chosen)]

    letters = [letter for letter in options.run(work()) if everything or letter.resolution is None]
    if as_json:
        options.print_json_line([_describe(letter) for letter in letters])
        return
    for letter in letters:
        facts = letter.facts
        print_line(
            f"{letter.id:32} {letter.dead_lettered_at:%Y-%m-%dT%H:%M:%SZ} {letter.resolution or 'open':9} "
            f"{facts.get('error-class', '?')}: {facts.get('error', '?')}"
        )
    print_line(f"{len(letters)} dead letters; `mailroom dlq show ID` shows one")


@app.command("show", epilog=_SHOW_EXAMPLES)
def show_dead_letters(
    ids: Ids,
    contents: Annotated[bool, typer.Option("--contents", help="Also what the mail says.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Show dead letters with their headers and, where it can be decoded, their event."""

    async def work() -> list[dict[str, Any]]:
        async with _open_desk() as desk:
            return [
                {**_describe(letter), **view_record(letter.raw, letter.topic, desk.codec, shows_contents=contents)}
                for letter in await desk.find_letters(ids)
            ]

    for view in options.run(work()):
        if as_json:
            options.print_json_line(view)
        else:
            for name, value in view.items():
                print_line(f"{name:12} {value}")
            print_line("")


@app.command("retry", epilog=_RETRY_EXAMPLES)
def retry_dead_letters(
    ids: OptionalIds = None,
    topic: OfTopic = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also those that cannot be decoded yet, at which a consumer stops.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJSON = False,
) -> None:
    """Send dead letters to the topic they came from. One that was dealt with before is left alone."""

    def refuse(desk: "_Desk", letter: DeadLetter) -> str | None:
        problem = None if force else letter.find_decoding_problem(desk.codec)
        return None if problem is None else f"{letter.id}: {problem}; its consumer would stop at it (--force sends it)"

    _resolve(ids, topic, dry_run, as_json, Resolution.RETRIED, retry_dead_letter, refuse)


@app.command("discard", epilog=_DISCARD_EXAMPLES)
def discard_dead_letters(
    ids: OptionalIds = None, topic: OfTopic = None, dry_run: DryRun = False, as_json: AsJSON = False
) -> None:
    """Mark dead letters as dealt with, without sending them. They stay in Kafka until its retention takes them."""

    async def discard(producer: EventProducer, letter: DeadLetter) -> None:
        await mark_dead_letter(producer, letter, Resolution.DISCARDED)

    _resolve(ids, topic, dry_run, as_json, Resolution.DISCARDED, discard, lambda _desk, _letter: None)


@dataclass(frozen=True, slots=True)
class _Desk:
    """What the commands need of Kafka."""

    settings: KafkaSettings
    codec: Codec
    consumer: Any  # AIOKafkaConsumer, which has no types

    async def read_letters(self, topic: Topic) -> list[DeadLetter]:
        return await read_dead_letters(self.settings, self.consumer, topic)

    async def find_letters(self, ids: list[str]) -> list[DeadLetter]:
        letters = []
        for name in dict.fromkeys(wanted.partition(":")[0] for wanted in ids):
            letters += await self.read_letters(find_topic(name, self.settings.topic_prefix).topic)
        return select_dead_letters(letters, ids)


@asynccontextmanager
async def _open_desk() -> AsyncIterator[_Desk]:
    settings = load_kafka_settings()
    codec = Codec()
    await load_schemas(settings, codec)
    async with open_consumer(settings) as consumer:
        yield _Desk(settings, codec, consumer)


def _choose_topics(name: str | None, desk: _Desk) -> list[Topic]:
    if name is not None:
        return [find_topic(name, desk.settings.topic_prefix).topic]
    return [topic for topic in TOPICS if topic.has_dead_letters]


def _resolve(
    ids: list[str] | None,
    topic: str | None,
    dry_run: bool,
    as_json: bool,
    resolution: Resolution,
    act: Callable[[EventProducer, DeadLetter], Awaitable[None]],
    refuse: Callable[[_Desk, DeadLetter], str | None],
) -> None:
    if bool(ids) == (topic is not None):
        raise typer.BadParameter("give ids, or --topic for all open ones of a topic")

    async def work() -> tuple[list[str], list[DeadLetter], list[str]]:
        async with _open_desk() as desk:
            found = await desk.find_letters(ids) if ids else await desk.read_letters(_choose_topics(topic, desk)[0])
            open_ones = [letter for letter in found if letter.resolution is None]
            refusals = [text for letter in open_ones if (text := refuse(desk, letter)) is not None]
            chosen = [letter for letter in open_ones if refuse(desk, letter) is None]
            if chosen and not dry_run:
                async with open_producer(desk.settings, desk.codec) as producer:
                    for letter in chosen:
                        await act(producer, letter)
            return [letter.id for letter in chosen], [one for one in found if one.resolution is not None], refusals

    done, before, refusals = options.run(work())
    earlier = {letter.id: str(letter.resolution) for letter in before} if ids else {}
    if as_json:
        options.print_json_line({"dry_run": dry_run, resolution.value: done, "earlier": earlier, "refused": refusals})
    else:
        verb = f"would be {resolution.value}" if dry_run else resolution.value
        for letter_id in done:
            print_line(f"{letter_id}  {verb}")
        for letter_id, was in earlier.items():
            print_line(f"{letter_id}  was {was} before: left alone")
        print_line(f"{len(done)} {verb}")
    if refusals:
        raise Rejected("; ".join(refusals))


def _describe(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": letter.id,
        "dead_lettered_at": letter.dead_lettered_at.isoformat(timespec="milliseconds"),
        "resolution": None if letter.resolution is None else letter.resolution.value,
        "facts": letter.facts,
    }

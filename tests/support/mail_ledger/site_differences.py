"""The comparison on a site that runs: read over the APIs, and again until it is as it should be."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from mail_ledger.comparison import Difference, FiledDocument, RecordedMessage, compare_ledger
from mail_ledger.mail_flow import Mailbox, read_ledger
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI, retry_while_unavailable

_SHOWN = 20


async def find_differences(
    control: ControlClient,
    api: MailroomAPI,
    mailboxes: Sequence[Mailbox],
    contents_by_mail: Mapping[str, tuple[str, ...]],
    *,
    other_sources: Collection[str] = (),
) -> list[Difference]:
    """`other_sources` are doc sources whose mails the flow did not make; what they hold is not compared."""
    ledger = await read_ledger(control, mailboxes, contents_by_mail)
    messages = await retry_while_unavailable(lambda: api.list_items("/messages"))
    documents = await retry_while_unavailable(lambda: api.list_items("/documents"))
    return compare_ledger(
        ledger,
        [
            RecordedMessage(row["doc_source_id"], row["message_id"], row["state"])
            for row in messages
            if row["doc_source_id"] not in other_sources
        ],
        [
            FiledDocument(row["id"], row["doc_source_id"], row["content_sha256"], row["status"])
            for row in documents
            if row["doc_source_id"] not in other_sources
        ],
    )


async def wait_until(
    holds: Callable[[list[Difference]], bool],
    find: Callable[[], Awaitable[list[Difference]]],
    within_s: float,
    *,
    pause_s: float = 10,
) -> list[Difference]:
    """Looks again until the differences are as they should be; those at the end, also where the time is over."""
    deadline = time.monotonic() + within_s
    while not holds(differences := await find()) and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(pause_s)  # what it waits for happens in containers, and looking costs them
    return differences


def are_none(differences: Sequence[Difference]) -> bool:
    return not differences


def print_differences(differences: Sequence[Difference]) -> None:
    for difference in differences[:_SHOWN]:
        print(f"  {difference.kind}: {difference.text}", flush=True)
    if len(differences) > _SHOWN:
        print(f"  and {len(differences) - _SHOWN} more", flush=True)

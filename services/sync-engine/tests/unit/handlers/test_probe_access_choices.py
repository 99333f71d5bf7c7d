"""Which messages are read to tell a protected one from a mailbox that may not be read."""

import random
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import cast

import pytest
from sync_harness import doc_source

from mailroom_common.errors import AccessDenied, ItemGone
from mailroom_common.events import SyncReason
from mailroom_common.providers.ports import MailReader
from mailroom_common.providers.types import Mailbox, Message, MessageSummary
from sync_engine.domain.message_records import SyncState
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.handlers.probe_access import ItemsDenied, ProbeAccess
from sync_engine.handlers.sync_run import SyncRun, build_mailbox
from sync_engine.ports import Messages

PAGE = tuple(f"m{number}" for number in range(50))


class ReadBefore:
    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids

    async def list_previously_read(self, _doc_source_id: str, *, limit: int) -> Sequence[str]:
        return self._ids[:limit]


class GuardedMailbox:
    def __init__(self, *, protected: Collection[str], gone: Collection[str] = ()) -> None:
        self._protected, self._gone = protected, gone
        self.read: list[str] = []

    async def fetch_message(self, _mailbox: Mailbox, message_id: str, *, with_parts: bool) -> Message:
        self.read.append(message_id)
        if message_id in self._protected:
            raise AccessDenied("403")
        if message_id in self._gone:
            raise ItemGone("404")
        return Message(MessageSummary(message_id=message_id), (), "")


async def probe(mailbox: GuardedMailbox, *, known: Sequence[str] = (), seed: int = 0) -> None:
    source = doc_source()
    run = SyncRun(
        source=source,
        mailbox=build_mailbox(source),
        provider=cast("MailReader", mailbox),
        reasons=frozenset({SyncReason.NOTIFICATION}),
        state=SyncState(source_state="active"),
        started_at=datetime.now(UTC),
        timings=SyncTimings(),
    )
    run.access_probes.listed_ids = PAGE
    access = ProbeAccess(cast("Messages", ReadBefore(known)), choices=random.Random(seed))
    await access.require_access(run, PAGE[0])


@pytest.mark.parametrize("seed", range(10))
async def test_protected_messages_at_the_head_of_a_page_stop_no_new_mailbox(seed: int) -> None:
    await probe(GuardedMailbox(protected=PAGE[:4]), seed=seed)


async def test_messages_that_were_protected_since_they_were_read_do_not_decide_alone() -> None:
    known = ["k0", "k1", "k2", "k3"]
    await probe(GuardedMailbox(protected={PAGE[0], *known}), known=known)


async def test_a_mailbox_none_of_whose_messages_can_be_read_is_denied_after_three_others() -> None:
    mailbox = GuardedMailbox(protected=PAGE)
    with pytest.raises(ItemsDenied):
        await probe(mailbox)
    assert len(set(mailbox.read)) == 3
    assert PAGE[0] not in mailbox.read


async def test_messages_that_are_gone_tell_nothing() -> None:
    mailbox = GuardedMailbox(protected=PAGE[:1], gone=PAGE[1:40])
    await probe(mailbox)
    assert mailbox.read[-1] in PAGE[40:]

"""Comes back to messages that could not be taken, at the end of a run: by then the provider has shown to be well."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.logs import get_logger
from sync_engine.domain.records import FailedItem, JudgedMessage, MessageState, Page, ParkedItem
from sync_engine.domain.watched import Watch
from sync_engine.handlers.items import ItemUnavailable, Taken, Wanted
from sync_engine.handlers.observe_messages import ObserveMessages
from sync_engine.handlers.run import Run
from sync_engine.handlers.take_messages import TakeMessages
from sync_engine.run_ports import RunTables

log = get_logger()

# A message may be announced before it can be read; one that is gone so many times is gone.
_GONE_FOR_GOOD = 3


class RetryParked:
    def __init__(
        self, tables: RunTables, take: TakeMessages, observe: ObserveMessages, clock: Callable[[], datetime]
    ) -> None:
        self._tables = tables
        self._take = take
        self._observe = observe
        self._clock = clock

    async def retry(self, run: Run, watch: Watch, due: list[ParkedItem]) -> None:
        """One at a time, a transaction each: what breaks here must not take another with it."""
        for item in due:
            try:
                if run.observes:
                    known = await self._tables.known(run.doc_source_id, [item.message_id])
                    ours = {key: message for key, message in known.items() if message.state is not MessageState.PARKED}
                    # What was told as received and cannot be found any more is removed, which is to be told too.
                    wanted = [Wanted(item.message_id, may_be_gone=bool(ours))]
                    taken = await self._observe.observe(run, watch, wanted, ours)
                else:
                    taken = await self._take.take(run, watch, [Wanted(item.message_id)])
            except ItemUnavailable as error:
                taken = Taken(failed=(error.item,))
            await self._write(run, item, taken)

    async def _write(self, run: Run, item: ParkedItem, taken: Taken) -> None:
        failed = tuple(fail for fail in taken.failed if not _is_gone_for_good(item, fail))
        settled = () if failed else (item.message_id,)
        if settled:
            log.info(
                "parked_item_settled",
                doc_source_id=run.doc_source_id,
                message_id=item.message_id,
                taken=bool(taken.messages),
            )
        messages: tuple[JudgedMessage, ...] = taken.messages
        committed = await self._tables.commit(
            run.source, Page(messages=messages, failed=failed, settled=settled), self._clock()
        )
        run.count(committed, messages, failed=len(failed))


def _is_gone_for_good(item: ParkedItem, failed: FailedItem) -> bool:
    return failed.reason == "gone" and item.reason == "gone" and item.attempts + 1 >= _GONE_FOR_GOOD

"""Works on the messages of a page, some at once, each failing for itself."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mailroom_common.errors import AccessDenied, ItemGone, MailroomError, ProviderUnavailable, Rejected
from mailroom_common.logs import get_logger
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.records import FailedItem, JudgedMessage
from sync_engine.handlers.run import Run

log = get_logger()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A message to look at. `may_be_gone`: it was shown as removed, so its absence is no news."""

    message_id: str
    summary: MessageSummary | None = None
    may_be_gone: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    messages: tuple[JudgedMessage, ...] = ()
    failed: tuple[FailedItem, ...] = ()

    def __add__(self, other: "Taken") -> "Taken":
        return Taken(self.messages + other.messages, self.failed + other.failed)


class ItemUnavailable(ProviderUnavailable):
    """The provider failed us over one message: over that one, or over everything. The run ends, the item is kept."""

    def __init__(self, item: FailedItem, *, retry_after_s: float | None) -> None:
        super().__init__(item.detail, retry_after_s=retry_after_s)
        self.item = item


Look = Callable[[Wanted], Awaitable[JudgedMessage | None]]


async def each(run: Run, wanted: Sequence[Wanted], look: Look, *, at_once: int) -> Taken:
    """What `look` made of each, in the order of `wanted`.

    Raises:
        ItemUnavailable: the provider failed over one of them.
    """
    slots = asyncio.Semaphore(at_once)

    async def in_turn(item: Wanted) -> JudgedMessage | FailedItem | None:
        async with slots:
            return await _failing_alone(run, item, look)

    tasks = [asyncio.create_task(in_turn(item)) for item in wanted]
    try:
        results = await asyncio.gather(*tasks)
    finally:
        # The first error ends them all: what they had stored is announced, and stored again next time.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return Taken(
        tuple(result for result in results if isinstance(result, JudgedMessage)),
        tuple(result for result in results if isinstance(result, FailedItem)),
    )


async def _failing_alone(run: Run, item: Wanted, look: Look) -> JudgedMessage | FailedItem | None:
    """An error that is this message's own becomes a FailedItem, so that the page goes on without it."""
    try:
        return await look(item)
    except ItemGone:
        return None if item.may_be_gone else FailedItem(item.message_id, "gone", "it was shown and cannot be fetched")
    except AccessDenied as error:
        # The mailbox let us in a moment ago, when a page showed this message.
        return FailedItem(item.message_id, "access_denied", str(error))
    except Rejected as error:
        return FailedItem(item.message_id, "rejected", str(error))
    except ProviderUnavailable as error:
        failed = FailedItem(item.message_id, "provider_unavailable", str(error))
        raise ItemUnavailable(failed, retry_after_s=error.retry_after_s) from error
    except MailroomError:
        raise
    except Exception as error:
        # What strangers send finds every hole: one mail that breaks us must not stand in the way of the others.
        log.exception("message_not_taken", doc_source_id=run.doc_source_id, message_id=item.message_id)
        return FailedItem(item.message_id, "crashed", type(error).__name__)

"""Tells whether a read that is refused is that message's trouble or the mailbox's: others are read, once in a run."""

import random
from collections.abc import Sequence
from itertools import chain, zip_longest

from mailroom_common.errors import AccessDenied, ActionRequired, ItemGone
from mailroom_common.logs import get_logger
from mailroom_common.providers.types import Message, PartKind
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import Messages

log = get_logger()

# So many are read at most. One may have been protected since: a single refusal must not stop a mailbox.
_MAX_PROBES = 3


class ItemsDenied(ActionRequired):
    """The provider lists what is in the mailbox, and refuses to have any of it read."""


class ProbeAccess:
    def __init__(self, messages: Messages, *, choices: random.Random | None = None) -> None:
        self._messages = messages
        self._choices = choices or random.Random()  # noqa: S311  # hides nothing

    async def require_access(self, run: SyncRun, refused_id: str, *, of_parts: bool = False) -> None:
        """Returns where other messages can be read, or there is none. `of_parts`: the bytes of a part were refused.

        Raises ItemsDenied where none can be read.
        """
        probes = run.access_probes
        async with probes.lock:
            if of_parts not in probes.is_denied:
                probes.is_denied[of_parts] = await self._is_mailbox_denied(run, refused_id, of_parts=of_parts)
        if probes.is_denied[of_parts]:
            raise ItemsDenied("the provider lists the messages of this mailbox and refuses each of them")

    async def _is_mailbox_denied(self, run: SyncRun, refused_id: str, *, of_parts: bool) -> bool:
        refused = 0
        for message_id in await self._list_candidates(run, refused_id):
            is_readable = await self._can_read(run, message_id, of_parts=of_parts)
            if is_readable:
                return False
            refused += is_readable is False
            if refused == _MAX_PROBES:
                break
        if refused:
            # The grant lists the mailbox and may not read it: its administrator knows which right or policy changed.
            log.warning("mailbox_items_denied", doc_source_id=run.doc_source_id, refused=refused + 1)
        return refused > 0

    async def _list_candidates(self, run: SyncRun, refused_id: str) -> Sequence[str]:
        """Messages that were read before, and those of the page, in turn.

        Both at random: protected mails often lie side by side, and some at the head of a page must not decide.
        """
        known = await self._messages.list_previously_read(run.doc_source_id, limit=_MAX_PROBES + 1)
        listed = run.access_probes.listed_ids
        shuffled = (self._choices.sample(ids, k=len(ids)) for ids in (known, listed))
        in_turn = chain.from_iterable(zip_longest(*shuffled))
        return [message_id for message_id in dict.fromkeys(in_turn) if message_id not in (None, refused_id)]

    async def _can_read(self, run: SyncRun, message_id: str, *, of_parts: bool) -> bool | None:
        """None: this message does not tell, as it is gone or has no part."""
        try:
            message = await run.provider.fetch_message(run.mailbox, message_id, with_parts=of_parts)
            return await self._can_open_part(run, message) if of_parts else True
        except AccessDenied:
            return False
        except ItemGone:
            return None

    async def _can_open_part(self, run: SyncRun, message: Message) -> bool | None:
        part = next((part for part in message.parts if part.kind is PartKind.FILE), None)
        if part is None:
            return None
        async with run.provider.open_part(run.mailbox, message.summary.message_id, part) as chunks:
            async for _ in chunks:
                break  # leaving here abandons the rest
        return True

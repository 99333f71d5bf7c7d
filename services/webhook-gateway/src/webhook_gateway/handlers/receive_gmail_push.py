"""Handles a push of Gmail: writes one notification for each doc source of the mailbox."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.events import DocSource, DocSourceState
from mailroom_common.topics import NOTIFICATIONS
from webhook_gateway.domain.client_state import drops_changes
from webhook_gateway.domain.event_mapping import build_gmail_notification
from webhook_gateway.domain.pushes import GmailPush, PushOutcome, PushResult
from webhook_gateway.ports import DocSourceLookup, EventWriter, OutgoingEvent


class GmailPushReceiver:
    def __init__(self, sources: DocSourceLookup, events: EventWriter, clock: Callable[[], datetime]) -> None:
        self._sources = sources
        self._events = events
        self._clock = clock

    async def receive_push(self, push: GmailPush, *, remaining_s: Callable[[], float]) -> PushResult:
        """`remaining_s` returns how many seconds are left until the response is due.

        Raises:
            Unavailable: Kafka did not acknowledge the events, or could not be asked for the address: Pub/Sub has to
                repeat the push.
        """
        sources = self._find_consented(push.address)
        if not sources:
            # The mailbox may have been connected after the last record of `doc-sources` that was read.
            await self._sources.catch_up()
            sources = self._find_consented(push.address)
        if not sources:
            return PushResult(PushOutcome.UNKNOWN_ADDRESS)
        received_at = self._clock()
        events = [
            OutgoingEvent(NOTIFICATIONS, source.doc_source_id, build_gmail_notification(push, source, received_at))
            for source in sources
            if not drops_changes(source)
        ]
        if events:
            await self._events.write_events(events, timeout_s=remaining_s())
        return PushResult(PushOutcome.ACCEPTED, written=len(events), dropped=len(sources) - len(events))

    def _find_consented(self, address: str) -> list[DocSource]:
        # Anybody may name an address: until somebody has consented for it, it is as unknown as one that nobody named.
        found = self._sources.find_by_address("gmail", address)
        return [source for source in found if source.state is not DocSourceState.PENDING]

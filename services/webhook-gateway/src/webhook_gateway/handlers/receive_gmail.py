"""Takes a push of Gmail: one record for each doc source of the mailbox."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.kafka.producer import OutgoingEvent
from mailroom_common.topics import NOTIFICATIONS
from webhook_gateway.domain.client_states import is_resting
from webhook_gateway.domain.pushes import GmailPush
from webhook_gateway.domain.telling import notification_of_gmail
from webhook_gateway.handlers.answers import Outcome, Received
from webhook_gateway.handlers.catch_up import CatchUps
from webhook_gateway.ports import EventPublisher, KnowsSources


class ReceiveGmail:
    def __init__(
        self, sources: KnowsSources, records: EventPublisher, catch_ups: CatchUps, *, clock: Callable[[], datetime]
    ) -> None:
        self._sources = sources
        self._records = records
        self._catch_ups = catch_ups
        self._clock = clock

    async def receive(self, push: GmailPush, *, left_s: Callable[[], float]) -> Received:
        """`left_s` tells how many seconds the answer has left.

        Raises:
            Unavailable: Kafka has not acknowledged it, or could not be asked who this is: Pub/Sub has to come again.
        """
        found = self._sources.find_by_address("gmail", push.address)
        if not found:
            await self._catch_ups.catch_up()
            found = self._sources.find_by_address("gmail", push.address)
        if not found:
            return Received(Outcome.UNKNOWN_ADDRESS)
        at = self._clock()
        records = [
            OutgoingEvent(NOTIFICATIONS, source.doc_source_id, notification_of_gmail(push, source, at))
            for source in found
            if not is_resting(source)
        ]
        if records:
            await self._records.send_events(records, timeout_s=left_s())
        return Received(Outcome.ACCEPTED, written=len(records), dropped=len(found) - len(records))

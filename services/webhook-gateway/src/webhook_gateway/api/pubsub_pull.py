"""The messages pulled from a Pub/Sub subscription: what becomes of one, until it may be acknowledged at Google."""

import asyncio

from mailroom_common.errors import Rejected, Retryable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import GATEWAY_ITEMS
from mailroom_common.retries import retry_forever
from mailroom_common.tracing import bind_traceparent
from webhook_gateway.api.pubsub_body import parse_pubsub_data
from webhook_gateway.api.webhooks import count_items
from webhook_gateway.domain.pushes import GmailPush, PushOutcome
from webhook_gateway.handlers.receive_gmail_push import GmailPushReceiver

log = get_logger()


class PulledMessages:
    """`attempt_timeout_s` is how long Kafka may take at each attempt; there is no limit to their number."""

    def __init__(self, gmail: GmailPushReceiver, *, subscription: str, attempt_timeout_s: float) -> None:
        self._gmail = gmail
        self._subscription = subscription
        self._attempt_timeout_s = attempt_timeout_s

    async def receive_message(self, data: bytes, message_id: str) -> None:
        """Returns once the message may be acknowledged: Kafka has it, or no repeat would change what it is.

        A push is answered in time and repeated by Google; a pulled message stays leased while this waits for Kafka,
        since a message that is given back comes again at once.
        """
        try:
            push = parse_pubsub_data(data, self._subscription)
        except Rejected as error:
            # Acknowledged, or it would come for ever.
            # A pulled message is no notification of Gmail: somebody else publishes to its topic.
            log.warning("pubsub_message_refused", message_id=message_id, reason=str(error))
            GATEWAY_ITEMS.labels("gmail", "malformed").inc()
            return
        # Kafka has not acknowledged a pulled message; it stays leased and is tried again.
        retry = retry_forever(Retryable, log_event="pubsub_message_delayed", message_id=message_id, max_s=10.0)
        with bind_traceparent(None):
            await retry(self._receive_push, push)

    async def _receive_push(self, push: GmailPush) -> None:
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._attempt_timeout_s
        result = await self._gmail.receive_push(push, remaining_s=lambda: deadline_s - loop.time())
        count_items("gmail", result)
        if result.outcome is PushOutcome.UNKNOWN_ADDRESS:
            GATEWAY_ITEMS.labels("gmail", "unknown_address").inc()

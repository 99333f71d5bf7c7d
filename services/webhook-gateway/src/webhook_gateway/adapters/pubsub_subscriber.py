"""Pulls a Pub/Sub subscription by Google's own client, whose threads end at this module's edge.

The client keeps the stream open, extends the deadline of every message that is not acknowledged yet, and delivers
messages with an ordering key one after the other. Source: google-cloud-pubsub 2.44, `SubscriberClient.subscribe`.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

import google.auth
import grpc
from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.api_core.grpc_helpers import create_channel
from google.auth.exceptions import GoogleAuthError
from google.cloud.pubsub_v1 import SubscriberClient
from google.cloud.pubsub_v1.subscriber.futures import StreamingPullFuture
from google.cloud.pubsub_v1.subscriber.message import Message
from google.cloud.pubsub_v1.types import FlowControl
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from mailroom_common.errors import SettingsError
from mailroom_common.logs import get_logger
from mailroom_common.retries import retry_forever
from mailroom_common.settings import TLSSettings
from mailroom_common.transport_security import is_loopback

log = get_logger()

ReceiveMessage = Callable[[bytes, str], Awaitable[None]]

_EMULATOR = "PUBSUB_EMULATOR_HOST"
_SCOPE = "https://www.googleapis.com/auth/pubsub"
# Messages are small (an address and a number); the limit keeps a foreign publisher's from filling memory.
_MAX_BYTES = 16 * 1024 * 1024
# The shortest lease that Pub/Sub gives: what a killed process had leased comes to another one so much later. A message
# waits for Kafka for milliseconds; one that waits longer costs an extension every nine seconds.
_LEASE_S = 10
_CLOSE_TIMEOUT_S = 2.0


def open_subscriber(settings: TLSSettings) -> SubscriberClient:
    """Blocks: Google's credentials may come from a metadata server. The environment's own proxy is not used.

    Raises:
        GoogleAuthError: no credentials were found by Google's standard variables and places.
        SettingsError: an emulator beyond this machine, to which there is neither TLS nor a proof of who it is.
    """
    if emulator := os.environ.get(_EMULATOR):
        if not is_loopback(emulator.rpartition(":")[0]) and not settings.insecure:
            raise SettingsError(
                f"{_EMULATOR} names a host that is not this machine: unset it, or set MAILROOM_INSECURE=1 on a site "
                "without real mail."
            )
        return SubscriberClient()  # which reads the variable itself, and sends no credentials
    credentials, _ = google.auth.default(scopes=[_SCOPE])
    roots = None if settings.ca_bundle is None else settings.ca_bundle.read_bytes()
    proxy: list[tuple[str, object]] = [("grpc.enable_http_proxy", 0)]
    if settings.https_proxy is not None:
        proxy = [("grpc.http_proxy", settings.https_proxy)]
    channel = create_channel(
        SubscriberGrpcTransport.DEFAULT_HOST,
        credentials=credentials,
        ssl_credentials=grpc.ssl_channel_credentials(roots),
        options=[("grpc.max_receive_message_length", -1), ("grpc.keepalive_time_ms", 30_000), *proxy],
    )
    return SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))


class PubSubSubscriber:
    def __init__(
        self,
        open_client: Callable[[], SubscriberClient],
        receive_message: ReceiveMessage,
        *,
        subscription: str,
        max_messages: int,
    ) -> None:
        self._open_client = open_client
        self._receive_message = receive_message
        self._subscription = subscription
        self._flow_control = FlowControl(
            max_messages=max_messages, max_bytes=_MAX_BYTES, max_duration_per_lease_extension=_LEASE_S
        )

    async def pull_messages(self) -> None:
        """Runs until it is cancelled. What Google refuses is tried again: the process has the pushes of other providers
        to take, and a missing right can be given while it runs."""
        # Google refuses to be pulled from (credentials, a right or the subscription is missing), or cannot be reached.
        retry = retry_forever(
            GoogleAPICallError,
            GoogleAuthError,
            RetryError,
            log_event="pubsub_pull_failed",
            subscription=self._subscription,
            initial_s=1.0,
            max_s=60.0,
        )
        await retry(self._pull_until_failure)

    async def _pull_until_failure(self) -> None:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        in_flight: dict[asyncio.Task[None], Message] = {}

        def start_message(message: Message) -> None:
            task = loop.create_task(self._process_message(message))
            in_flight[task] = message
            task.add_done_callback(in_flight.pop)

        client = await asyncio.to_thread(self._open_client)
        stream = client.subscribe(
            self._subscription,
            lambda message: loop.call_soon_threadsafe(start_message, message),
            flow_control=self._flow_control,
        )
        stream.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
        log.info("pubsub_pull_started", subscription=self._subscription)
        try:
            await ended.wait()
            stream.result()  # raises what ended the stream
        finally:
            unfinished = dict(in_flight)
            for task in unfinished:
                task.cancel()
            ack_ids = [message.ack_id for message in unfinished.values()]
            await asyncio.to_thread(self._close_client, client, stream, ack_ids)

    async def _process_message(self, message: Message) -> None:
        try:
            await self._receive_message(message.data, message.message_id)
        except Exception:
            # A bug of ours. The lease runs on until its limit of an hour: given back, the message would come at once.
            log.exception("pubsub_message_crashed", message_id=message.message_id)
        else:
            message.ack()

    def _close_client(self, client: SubscriberClient, stream: StreamingPullFuture, ack_ids: list[str]) -> None:
        """Gives back what is unfinished, so that another process gets it at once and not when its lease is over. The
        stream is closed first: through an open one it would come here again."""
        stream.cancel()
        with suppress(Exception):  # what ended the stream was raised, or it ends as asked
            stream.result(_CLOSE_TIMEOUT_S)
        if ack_ids:
            with suppress(GoogleAPICallError, RetryError):  # their lease ends by itself
                client.modify_ack_deadline(
                    subscription=self._subscription, ack_ids=ack_ids, ack_deadline_seconds=0, timeout=_CLOSE_TIMEOUT_S
                )
        client.close()

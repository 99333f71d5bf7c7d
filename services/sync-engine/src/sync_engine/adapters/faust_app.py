"""The Faust app of the coalescer, with the two repairs that Faust 0.15.3 needs.

**The changelog.** A table sends a change to its topic some time later and tells nobody whether it arrived; flushing the
producer tells no more, since it returns when the sending has failed as well. So the table keeps the future of its
latest change, and whoever made the change can await it.

**Rebalances.** At the end of one Faust 0.15.3 lets the fetcher read again, then seeks to what is committed, then
empties the queues of its agents. Records that came in between were lost to this process: those in the queues, since
nothing seeks back for them, and those of partitions that never had a commit, since `seek_to_committed` passes over
these. Seen on Kafka 4.4 in about every second start with notifications waiting; they came with the next start. So
nothing but the changelog is read while a rebalance lasts, and whatever was fetched in it all the same is fetched again.
"""

import logging
import tempfile
from collections.abc import Mapping
from typing import Any

import faust
from aiokafka.errors import KafkaError
from faust.auth import Credentials, SASLCredentials, SSLCredentials
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.tuples import FutureMessage

from mailroom_common.kafka.security import KafkaSecurity
from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import COALESCER_APP_ID, PARTITIONS


def build_faust_app(settings: KafkaSettings) -> faust.App:
    """Group, changelog and table names derive from the id, so the prefix of a site is part of it."""
    for library in ("faust", "mode"):
        logging.getLogger(library).setLevel(logging.WARNING)  # they log each step of each start, in tables
    brokers = settings.kafka_bootstrap.split(",")
    return _App(
        settings.topic_prefix + COALESCER_APP_ID,
        broker=[f"kafka://{broker.strip()}" for broker in brokers],
        broker_credentials=build_credentials(settings.kafka_security),
        store="memory://",
        datadir=tempfile.gettempdir(),  # named, but a memory store writes nothing there
        autodiscover=False,
        web_enabled=False,  # it would serve the table's contents to anybody
        key_serializer="raw",
        value_serializer="raw",
        Table=AcknowledgedTable,
        consumer_auto_offset_reset="earliest",
        stream_wait_empty=True,
        topic_allow_declare=False,  # `mailroom topics apply` creates the changelog, compact only
        topic_disable_leader=True,  # nothing here is for one worker only
        topic_partitions=PARTITIONS,
        table_standby_replicas=0,  # a window is ended by the owner of its partition, and the changelog is small
        broker_commit_interval=1.0,
        broker_session_timeout=10.0,
        broker_heartbeat_interval=2.0,
        producer_acks=-1,
        producer_request_timeout=3.0,
    )


def build_credentials(security: KafkaSecurity) -> Credentials | None:
    """What our other clients are given by `kafka/client.py`, in Faust's types."""
    context = security.build_ssl_context()
    if security.has_sasl:
        password = security.password.get_secret_value() if security.password else None
        return SASLCredentials(
            username=security.username, password=password, ssl_context=context, mechanism=security.mechanism
        )
    return SSLCredentials(context) if context else None


class AcknowledgedTable(faust.Table[bytes, bytes]):
    """`latest_send` is the future of the latest change: done once Kafka has acknowledged it, or with the error."""

    latest_send: FutureMessage

    def send_changelog(self, *args: Any, **kwargs: Any) -> FutureMessage:  # Any: passed on unchanged
        self.latest_send = super().send_changelog(*args, **kwargs)
        return self.latest_send


class _Consumer(driver.Consumer):
    _has_dropped_records = False

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:  # Any: Faust's RecordMap
        requested = active_partitions or set()
        if self.app.rebalancing:
            requested = {partition for partition in requested if self._is_changelog_tp(partition)}
        elif self._has_dropped_records:
            await self._seek_to_dropped_records()
        if not requested:
            await self.sleep(0.05)  # asking for none would ask for all
            return {}
        records = await super()._getmany(active_partitions=requested, timeout=timeout) or {}
        if self.app.rebalancing:
            changelog = {partition: batch for partition, batch in records.items() if self._is_changelog_tp(partition)}
            self._has_dropped_records = self._has_dropped_records or len(changelog) < len(records)
            records = changelog
        return records

    async def _seek_to_dropped_records(self) -> None:
        try:
            await self.perform_seek()
        except KafkaError:
            return  # the next rebalance has begun: once more after it
        self._has_dropped_records = False

    async def seek_to_committed(self) -> Mapping[TP, int]:
        committed = await super().seek_to_committed()
        for partition, offset in committed.items():
            if not offset and not self._is_changelog_tp(partition):
                # Where retention has taken the beginning, `auto_offset_reset` goes on at the earliest.
                await self.seek(partition, 0)
        return committed


class _Transport(driver.Transport):
    Consumer = _Consumer


class _App(faust.App):
    def _new_transport(self) -> driver.Transport:
        return _Transport(self.conf.broker_consumer, self)

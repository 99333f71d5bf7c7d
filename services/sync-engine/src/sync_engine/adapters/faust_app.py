"""The Faust app, with the two repairs that it needs.

**The changelog.** A table sends a change to its topic some time later and tells nobody whether it arrived; flushing the
producer tells no more, since it returns when the sending has failed as well. So the table keeps what was promised, and
who changed it can await that.

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
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.tuples import FutureMessage

from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import COALESCER_APP_ID, PARTITIONS


def faust_app(settings: KafkaSettings) -> faust.App:
    """Group, changelog and table names derive from the id, so the prefix of a site is part of it."""
    for library in ("faust", "mode"):
        logging.getLogger(library).setLevel(logging.WARNING)  # they tell each step of each start, in tables
    brokers = settings.kafka_bootstrap.split(",")
    return _App(
        settings.topic_prefix + COALESCER_APP_ID,
        broker=[f"kafka://{broker.strip()}" for broker in brokers],
        store="memory://",
        datadir=tempfile.gettempdir(),  # named, but a memory store writes nothing there
        autodiscover=False,
        web_enabled=False,  # it would serve the table's contents to anybody
        key_serializer="raw",
        value_serializer="raw",
        Table=ToldTable,
        consumer_auto_offset_reset="earliest",
        stream_wait_empty=True,
        topic_allow_declare=False,  # `mailroom topics apply` creates the changelog, compact only
        topic_disable_leader=True,  # nothing here is for one worker only
        topic_partitions=PARTITIONS,
        table_standby_replicas=0,  # the windows of others are not ours to end, and the changelog is small
        broker_commit_interval=1.0,
        broker_session_timeout=10.0,
        broker_heartbeat_interval=2.0,
        producer_acks=-1,
        producer_request_timeout=3.0,
    )


class ToldTable(faust.Table[bytes, bytes]):
    """`sent` is the promise of the latest change: done once Kafka has it, or with the reason why Kafka has not."""

    sent: FutureMessage

    def send_changelog(self, *arguments: Any, **named: Any) -> FutureMessage:  # Any: passed on as they are
        self.sent = super().send_changelog(*arguments, **named)
        return self.sent


class _Consumer(driver.Consumer):
    _must_seek = False

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:  # Any: Faust's RecordMap
        wanted = active_partitions or set()
        if self.app.rebalancing:
            wanted = {partition for partition in wanted if self._is_changelog_tp(partition)}
        elif self._must_seek:
            await self._seek_again()
        if not wanted:
            await self.sleep(0.05)  # asking for none would ask for all
            return {}
        records = await super()._getmany(active_partitions=wanted, timeout=timeout) or {}
        if self.app.rebalancing:
            changelog = {partition: batch for partition, batch in records.items() if self._is_changelog_tp(partition)}
            self._must_seek = self._must_seek or len(changelog) < len(records)
            records = changelog
        return records

    async def _seek_again(self) -> None:
        try:
            await self.perform_seek()
        except KafkaError:
            return  # the next rebalance has begun: once more after it
        self._must_seek = False

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

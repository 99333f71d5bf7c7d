"""One member of a Kafka consumer group: what aiokafka leaves to its users (kafka.md 2.3), settled in one place.

- A record is returned only while its partition is ours: aiokafka holds `getmany` back during a rebalance, and hands
  over what it drained without letting anything run in between. Records may come before `on_partitions_assigned` ends.
- Every rebalance takes all partitions away first, so `on_revoked` is for all of them, each time.
- A commit that another member's ownership refuses means the partitions are lost: drop the work, do not try again.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from mailroom_common.errors import Fatal, Unavailable
from mailroom_common.kafka.client import MemberSettings, close_client, connect_with_retry, create_consumer
from mailroom_common.kafka.record import Partition, RawRecord
from mailroom_common.kafka.watchdog import StallDetector
from mailroom_common.logs import get_logger
from mailroom_common.metrics import KAFKA_PARTITIONS_LOST
from mailroom_common.retries import retry_forever
from mailroom_common.topics import Topic

log = get_logger()

POLL_MS = 500
# A fetch asks for the partitions that are drained when it begins; one that is drained later waits until it ends. So it
# is short while records come. An idle member has one fetch open for all of its partitions, and a record ends that at
# once: there a long one costs nothing, where a short one is twenty questions a second to the broker.
_BUSY_FETCH_WAIT_MS = 50
_IDLE_FETCH_WAIT_MS = 500
_BUSY_FOR_S = 5.0
_MAX_POLL_RECORDS = 500
_COMMIT_TIMEOUT_S = 5.0
_PROGRESS_CHECK_INTERVAL_S = 10.0
_STATIC_SESSION_MS = 45_000  # a restart inside this time moves no partition
_DYNAMIC_SESSION_MS = 10_000
_DUPLICATE_REVOCATIONS = 6
_DUPLICATE_WITHIN_S = 60.0
REBALANCE_MS = 30_000  # the drain in `on_revoked` has to fit in it
# Work in flight is bounded by our own windows, and a full window may last as long as an outage: leaving the group for
# not polling would only move the same trouble to another member. The watchdog finds a stalled consumer.
_NO_POLL_LIMIT_MS = 24 * 60 * 60 * 1000


class AssignmentListener(Protocol):
    """What a consumer does as partitions come and go. `on_revoked` returns once nothing of them is worked on."""

    def on_assigned(self, partitions: Sequence[Partition]) -> None: ...
    async def on_revoked(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CommitResult:
    """What came of a commit. A partition that is in neither was not committed, and is as due as before."""

    committed: Set[Partition] = frozenset()
    lost: Set[Partition] = frozenset()


class GroupMember(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """`group` and the topics get the site's prefix. Open with `join_group`, close with `leave_group`."""

    def __init__(
        self,
        settings: MemberSettings,
        *,
        group: str,
        topics: Sequence[Topic],
        listener: AssignmentListener,
    ) -> None:
        self.group = group
        self._settings = settings
        self._topics = {settings.topic_prefix + topic.name: topic for topic in topics}
        self._listener = listener
        self._client: AIOKafkaConsumer | None = None
        self._stalls: StallDetector[Partition] = StallDetector()
        self._commit_lock = asyncio.Lock()
        self._failure: Exception | None = None
        self._busy_until_s = 0.0
        self._revoked_at: deque[float] = deque(maxlen=_DUPLICATE_REVOCATIONS)

    async def join_group(self) -> None:
        """Waits while Kafka or one of the topics is not there."""
        self._client = await connect_with_retry(self._create_client, self.group)
        await self._wait_for_topics()
        self._consumer.subscribe(list(self._topics), listener=self)

    async def leave_group(self) -> None:
        if self._client is not None:
            await close_client(self._client)
            self._client = None

    async def poll_records(self, only: Collection[Partition] | None = None) -> dict[Partition, list[RawRecord]]:
        """Records that came, after at most `POLL_MS`; `only` leaves the others where they are, None asks for all.

        Raises:
            Fatal: this member cannot go on (fenced, not authorised); a new process may.
        """
        if self._failure is not None:
            raise self._failure
        if only is None:
            self._choose_fetch_wait()
        else:
            # Partitions that are left out have records: one that is drained meanwhile waits until this fetch ends.
            self._stay_busy()
        wanted = () if only is None else [self._to_topic_partition(partition) for partition in only]
        try:
            found = await self._consumer.getmany(*wanted, timeout_ms=POLL_MS, max_records=_MAX_POLL_RECORDS)
        except KafkaError as error:
            # Error 82, a static member that another process with its instance id fenced, comes as a bare KafkaError.
            if not error.retriable:
                raise Fatal(f"{self.group}: Kafka refuses us: {error}{self._duplicate_instance_hint()}") from error
            # A retriable error of Kafka: the next poll follows after a pause, nothing is lost.
            log.warning("kafka_poll_failed", group=self.group, error=type(error).__name__)
            await asyncio.sleep(0.5)
            return {}
        if found:
            self._stay_busy()
        return {self._from_topic_partition(partition): records for partition, records in found.items()}

    def _stay_busy(self) -> None:
        self._busy_until_s = asyncio.get_running_loop().time() + _BUSY_FOR_S
        self._choose_fetch_wait()

    def _choose_fetch_wait(self) -> None:
        is_busy = asyncio.get_running_loop().time() < self._busy_until_s
        # Not part of aiokafka's interface, which knows one wait for a consumer's whole life; read for each fetch anew.
        self._consumer._fetcher._fetch_max_wait_ms = _BUSY_FETCH_WAIT_MS if is_busy else _IDLE_FETCH_WAIT_MS

    def assigned_partitions(self) -> set[Partition]:
        return {self._from_topic_partition(partition) for partition in self._consumer.assignment()}

    async def read_position(self, partition: Partition) -> int:
        """The offset that is read next; waits until aiokafka knows it."""
        position: int = await self._consumer.position(self._to_topic_partition(partition))
        return position

    def find_known_end(self, partition: Partition) -> int | None:
        """The end of the partition as the last fetch told it; None before the first."""
        try:
            end: int | None = self._consumer.highwater(self._to_topic_partition(partition))
        except AssertionError:  # not ours any more
            return None
        return end

    async def commit_offsets(self, offsets: Mapping[Partition, int]) -> CommitResult:
        """Commit, and return what is committed and what turned out to be lost. When Kafka is away neither holds."""
        if not offsets:
            return CommitResult()
        async with self._commit_lock:
            owned = self.assigned_partitions()
            committed: Set[Partition] = frozenset()
            lost = offsets.keys() - owned
            wanted = {
                self._to_topic_partition(partition): offset
                for partition, offset in offsets.items()
                if partition in owned
            }
            if wanted:
                try:
                    async with asyncio.timeout(_COMMIT_TIMEOUT_S):
                        await self._consumer.commit(wanted)
                except (CommitFailedError, IllegalStateError) as error:
                    # Another member of the group owns them now and handles the uncommitted records again.
                    log.warning(
                        "partition_commit_refused", group=self.group, count=len(wanted), error=type(error).__name__
                    )
                    lost = set(offsets)
                except (TimeoutError, KafkaError) as error:
                    # The next commit includes these offsets; a restart before that handles their records again.
                    log.warning("offset_commit_failed", group=self.group, error=type(error).__name__)
                else:
                    committed = offsets.keys() & owned
            if lost:
                KAFKA_PARTITIONS_LOST.labels(self.group).inc(len(lost))
            return CommitResult(committed, lost)

    async def watch_progress(self, held: Callable[[], Iterable[Partition]]) -> None:
        """Runs until cancelled; `held` are the partitions that are not polled on purpose.

        Raises:
            Fatal: Kafka has more for a partition that is not held, and delivers nothing.
        """
        while True:
            await asyncio.sleep(_PROGRESS_CHECK_INTERVAL_S)
            await self._check_progress(set(held()))

    async def _check_progress(self, held: set[Partition]) -> None:
        watched = [partition for partition in self.assigned_partitions() if partition not in held]
        if not watched:
            return
        try:
            async with asyncio.timeout(_PROGRESS_CHECK_INTERVAL_S):
                ends = await self._consumer.end_offsets([self._to_topic_partition(partition) for partition in watched])
        except (TimeoutError, KafkaError, OSError):
            return  # Kafka itself is away: that is no stalled consumer
        positions = {partition: await self._position_or_none(partition) for partition in watched}
        known_ends = {self._from_topic_partition(partition): end for partition, end in ends.items()}
        if stalled := self._stalls.find_stalled(asyncio.get_running_loop().time(), positions, known_ends):
            raise Fatal(f"{self.group}: {stalled[0]} has more to read and Kafka delivers nothing: restarting")

    async def _position_or_none(self, partition: Partition) -> int:
        try:
            async with asyncio.timeout(0.5):
                return await self.read_position(partition)
        except (TimeoutError, KafkaError):
            return -1  # not even known where to read from: that counts as standing still

    # aiokafka's callbacks. It only logs what they raise, so a failure is kept and raised by the next poll.

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        self._stalls = StallDetector()
        if revoked and self._settings.instance_id is not None:
            self._detect_duplicate_instance()
        log.info("partitions_revoked", group=self.group, count=len(revoked))
        try:
            await self._listener.on_revoked()
        except Exception as error:
            self._failure = error
            raise

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._stalls = StallDetector()
        self._stay_busy()
        log.info("partitions_assigned", group=self.group, count=len(assigned))
        try:
            self._listener.on_assigned([self._from_topic_partition(partition) for partition in sorted(assigned)])
        except Exception as error:
            self._failure = error
            raise

    def _detect_duplicate_instance(self) -> None:
        """Two processes with one instance id fence each other for ever: Kafka only says that it does not know the
        fenced member, and aiokafka joins again. A static member is revoked seldom, so many revocations mean that."""
        now_s = asyncio.get_running_loop().time()
        self._revoked_at.append(now_s)
        if len(self._revoked_at) == self._revoked_at.maxlen and now_s - self._revoked_at[0] < _DUPLICATE_WITHIN_S:
            self._failure = Fatal(f"{self.group} loses its partitions again and again{self._duplicate_instance_hint()}")

    def _duplicate_instance_hint(self) -> str:
        instance_id = self._settings.instance_id
        return "" if instance_id is None else f"; does another process run with MAILROOM_INSTANCE_ID={instance_id}?"

    @property
    def _consumer(self) -> AIOKafkaConsumer:
        if self._client is None:
            raise IllegalStateError(f"{self.group} has not joined")
        return self._client

    def _from_topic_partition(self, partition: TopicPartition) -> Partition:
        return Partition(self._topics[partition.topic], partition.partition)

    def _to_topic_partition(self, partition: Partition) -> TopicPartition:
        return TopicPartition(self._settings.topic_prefix + partition.topic.name, partition.number)

    def _create_client(self) -> AIOKafkaConsumer:
        instance = self._settings.instance_id
        return create_consumer(
            self._settings,
            client_id=self.group,
            group_id=self._settings.topic_prefix + self.group,
            group_instance_id=instance,
            session_timeout_ms=_STATIC_SESSION_MS if instance else _DYNAMIC_SESSION_MS,
            heartbeat_interval_ms=3_000,
            rebalance_timeout_ms=REBALANCE_MS,
            max_poll_interval_ms=_NO_POLL_LIMIT_MS,
            # One assignor only, and range: it gives the partitions of equal number of two topics to one member.
            partition_assignment_strategy=(RangePartitionAssignor,),
            enable_auto_commit=False,
            auto_offset_reset="earliest",  # with `latest` a record older than the group's first join is never read
            fetch_max_wait_ms=_BUSY_FETCH_WAIT_MS,
            request_timeout_ms=10_000,
            metadata_max_age_ms=60_000,
        )

    async def _wait_for_topics(self) -> None:
        # The process waits until the topic exists: `mailroom topics apply` creates it.
        await retry_forever(Unavailable, KafkaError, log_event="kafka_topic_missing", group=self.group)(
            self._require_topics
        )

    async def _require_topics(self) -> None:
        if missing := self._topics.keys() - await self._consumer.topics():
            # What a user may not read is not shown to it either.
            raise Unavailable(
                f"Kafka has no topic {', '.join(sorted(missing))}, or does not show it to us: "
                "run `mailroom topics apply`, with --acls where Kafka has an authorizer"
            )

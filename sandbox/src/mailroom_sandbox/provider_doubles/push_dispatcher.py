"""Delivers what the providers push: kept until accepted, repeated with growing pauses, given up in time."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import orjson

from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import to_ms


@dataclass(frozen=True, slots=True)
class PendingPush:
    """`attempts` counts those already made."""

    seq: int
    user_id: str
    body: dict[str, object]
    created_ms: int
    attempts: int


class PushChannel(Protocol):
    """How one kind of push travels."""

    name: str
    together: int  # so many pushes for one address may share a post
    at_once: int  # so many posts may be under way to one address
    gives_up_after_s: float

    async def post_pushes(self, url: str, pending_pushes: Sequence[PendingPush]) -> str:
        """Tries once and returns `accepted`, or what went wrong."""
        ...

    def pause_s(self, attempts: int) -> float: ...


class PushDispatcher:
    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._channels: dict[str, PushChannel] = {}
        self._wake = asyncio.Event()
        self._settled = asyncio.Condition()
        self._under_way: set[int] = set()
        self._posts: defaultdict[tuple[str, str], set[asyncio.Task[None]]] = defaultdict(set)

    def add_channel(self, channel: PushChannel) -> None:
        self._channels[channel.name] = channel

    def enqueue_push(
        self, channel: str, url: str, user_id: str, body: dict[str, object], *, due_in_s: float = 0.0
    ) -> None:
        now_ms = to_ms(self._now())
        self._store.execute_sql(
            "insert into outgoing (channel, url, user_id, body, created_ms, due_ms) values (?,?,?,?,?,?)",
            channel,
            url,
            user_id,
            orjson.dumps(body).decode(),
            now_ms,
            now_ms + int(due_in_s * 1000),
        )
        self._wake.set()

    def send_again(self, last: int, user_id: str | None = None) -> int:
        """Enqueue once more the last `last` pushes that were accepted or given up."""
        rows = self._store.select_rows(
            "select * from delivered where user_id = coalesce(?, user_id) order by seq desc limit ?", user_id, last
        )
        for row in reversed(rows):
            self.enqueue_push(row["channel"], row["url"], row["user_id"], orjson.loads(row["body"]))
        return len(rows)

    def count_waiting(self) -> int:
        return self._store.select_number("select count(*) from outgoing")

    async def wait_until_idle(self) -> None:
        """Returns when nothing waits any more, neither to be sent nor to be answered."""
        async with self._settled:
            await self._settled.wait_for(lambda: self.count_waiting() == 0)

    def retry_now(self) -> int:
        """Lets everything that waits for its time be due now."""
        waiting = self._store.execute_sql("update outgoing set due_ms = 0")
        self._wake.set()
        return waiting

    async def dispatch_pushes(self) -> None:
        """Until cancelled; what is under way is then cut and, unanswered, tried again by the next process."""
        try:
            while True:
                self._wake.clear()
                pause_s = self._start_due_posts()
                try:
                    await asyncio.wait_for(self._wake.wait(), pause_s)
                except TimeoutError:
                    continue
        finally:
            for task in [task for tasks in self._posts.values() for task in tasks]:
                task.cancel()

    def _start_due_posts(self) -> float | None:
        """Returns after how long something else falls due, None when nothing does.

        Each address has its own turn: one that does not answer holds up no other.
        """
        now_ms = to_ms(self._now())
        for row in self._store.select_rows("select distinct channel, url from outgoing where due_ms <= ?", now_ms):
            self._start_posts(self._channels[row["channel"]], row["url"], now_ms)
        next_due = self._store.select_number("select min(due_ms) from outgoing where due_ms > ?", now_ms)
        return max(0.0, (next_due - now_ms) / 1000) if next_due else None

    def _start_posts(self, channel: PushChannel, url: str, now_ms: int) -> None:
        posts = self._posts[channel.name, url]
        room = (channel.at_once - len(posts)) * channel.together
        if room <= 0:
            return
        due = [
            PendingPush(row["seq"], row["user_id"], orjson.loads(row["body"]), row["created_ms"], row["attempts"])
            for row in self._store.select_rows(
                "select * from outgoing where channel = ? and url = ? and due_ms <= ? order by due_ms, seq limit ?",
                channel.name,
                url,
                now_ms,
                room + len(self._under_way),
            )
            if row["seq"] not in self._under_way
        ][:room]
        for start in range(0, len(due), channel.together):
            batch = due[start : start + channel.together]
            self._under_way.update(pending_push.seq for pending_push in batch)
            posts.add(asyncio.create_task(self._attempt_post(channel, url, batch)))

    async def _attempt_post(self, channel: PushChannel, url: str, pending_pushes: Sequence[PendingPush]) -> None:
        try:
            outcome = await channel.post_pushes(url, pending_pushes)
            self._record_outcome(channel, url, pending_pushes, outcome)
            async with self._settled:
                self._settled.notify_all()
        finally:
            self._under_way.difference_update(pending_push.seq for pending_push in pending_pushes)
            # Before the wake, so that whoever wakes finds this task's place free.
            if (task := asyncio.current_task()) is not None:
                self._posts[channel.name, url].discard(task)
            self._wake.set()

    def _record_outcome(
        self, channel: PushChannel, url: str, pending_pushes: Sequence[PendingPush], outcome: str
    ) -> None:
        now_ms = to_ms(self._now())
        with self._store.transaction():
            for pending_push in pending_pushes:
                given_up = now_ms - pending_push.created_ms > channel.gives_up_after_s * 1000
                if outcome != "accepted" and not given_up:
                    self._store.execute_sql(
                        "update outgoing set attempts = attempts + 1, due_ms = ? where seq = ?",
                        now_ms + int(channel.pause_s(pending_push.attempts + 1) * 1000),
                        pending_push.seq,
                    )
                    continue
                self._store.execute_sql("delete from outgoing where seq = ?", pending_push.seq)
                self._store.execute_sql(
                    "insert into delivered (channel, url, user_id, body, at_ms, status, attempts)"
                    " values (?,?,?,?,?,?,?)",
                    channel.name,
                    url,
                    pending_push.user_id,
                    orjson.dumps(pending_push.body).decode(),
                    now_ms,
                    outcome,
                    pending_push.attempts + 1,
                )

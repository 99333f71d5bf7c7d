"""What every provider call passes through: the log of calls, the `unavailable` fault, latency, four slots a mailbox."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime

from mailroom_sandbox.provider_doubles.faults import Faults, UnavailableFault
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import Call, Refused, Reply, to_ms


class CallLog:
    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def record_call(self, provider: str, call: Call, mailbox: str | None, status: int, started: float) -> None:
        """Without the query: it may hold tokens, and never says more than the path what was asked."""
        path = f"$batch {call.path}" if call.batched else call.path
        self._store.execute_sql(
            "insert into call (at_ms, provider, method, path, mailbox, status, duration_ms) values (?,?,?,?,?,?,?)",
            to_ms(self._now()),
            provider,
            call.method,
            path,
            mailbox,
            status,
            int((time.monotonic() - started) * 1000),
        )

    def list_calls(
        self, *, mailbox: str | None = None, provider: str | None = None, after: int = 0
    ) -> list[dict[str, object]]:
        rows = self._store.select_rows(
            "select * from call where seq > ? and mailbox is coalesce(?, mailbox) and provider = coalesce(?, provider)"
            " order by seq",
            after,
            mailbox.lower() if mailbox else None,
            provider,
        )
        return [dict(row) for row in rows]

    def forget_calls(self) -> int:
        return self._store.execute_sql("delete from call")


class CallGate:
    """The provider's own limits: they apply to each call alike, also to those inside a batch."""

    def __init__(self, faults: Faults, *, slots: int, latency_s: float, too_many: Callable[[], Reply]) -> None:
        self._faults = faults
        self._slots = slots
        self._latency_s = latency_s
        self._too_many = too_many
        self._busy: Counter[str] = Counter()

    def refuse_if_unavailable(self, mailbox: str | None, body_of: Callable[[int], Reply]) -> None:
        fault = self._faults.use_fault_once(UnavailableFault, mailbox)
        if fault is None:
            return
        reply = body_of(fault.status)
        raise Refused(reply.with_headers(Retry_After=fault.retry_after) if fault.retry_after is not None else reply)

    @asynccontextmanager
    async def hold_slot(self, mailbox: str) -> AsyncIterator[None]:
        if self._busy[mailbox] >= self._slots:
            raise Refused(self._too_many())
        self._busy[mailbox] += 1
        try:
            await asyncio.sleep(self._latency_s)
            yield
        finally:
            self._busy[mailbox] -= 1

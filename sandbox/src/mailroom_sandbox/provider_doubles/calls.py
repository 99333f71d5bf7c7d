"""What every provider call passes through: the ledger of calls, the `unavailable` fault, quotas, latency, slots."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from mailroom_sandbox.provider_doubles.fault_switchboard import Faults
from mailroom_sandbox.provider_doubles.faults import UnavailableFault
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import Call, Refused, Reply, to_ms


@dataclass(slots=True)
class CallFacts:
    """Whose mailbox a call turned out to be for and what it cost; filled in while it is answered, then recorded."""

    mailbox: str | None = None
    units: int = 0


class SpentUnits:
    """Units by key in sliding windows; calls under way count already, and a restart forgets."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._spent: dict[str, deque[tuple[int, int]]] = {}

    def spend(self, key: str, units: int) -> None:
        self._spent.setdefault(key, deque()).append((to_ms(self._now()), units))

    def forget(self) -> None:
        self._spent.clear()

    def wait_s(self, key: str, units: int, *, limit: int, window_s: float) -> float:
        """0 when so many more fit, else after how long they will."""
        now_ms, window_ms = to_ms(self._now()), int(window_s * 1000)
        spent = self._spent.setdefault(key, deque())
        while spent and spent[0][0] <= now_ms - window_ms:
            spent.popleft()
        excess = sum(one for _, one in spent) + units - limit
        if excess <= 0:
            return 0.0
        for at_ms, one in spent:
            excess -= one
            if excess <= 0:
                return (at_ms + window_ms - now_ms) / 1000
        return window_s  # more than the whole limit at once: never fits


class CallLedger:
    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self.spent = SpentUnits(now)

    def record_call(self, provider: str, call: Call, facts: CallFacts, status: int, started: float) -> None:
        """Without the query: it may hold tokens, and never says more than the path what was asked."""
        path = f"$batch {call.path}" if call.batched else call.path
        self._store.execute_sql(
            "insert into call (at_ms, provider, method, path, mailbox, status, duration_ms, units)"
            " values (?,?,?,?,?,?,?,?)",
            to_ms(self._now()),
            provider,
            call.method,
            path,
            facts.mailbox,
            status,
            int((time.monotonic() - started) * 1000),
            facts.units,
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

    def sum_units(
        self, *, mailbox: str | None = None, provider: str | None = None, after: int = 0, window_s: float = 60.0
    ) -> list[dict[str, object]]:
        """By mailbox: calls, units, failed calls, and the most units that any `window_s` of the time had."""
        by_mailbox: dict[tuple[object, object], list[Mapping[str, object]]] = {}
        for row in self.list_calls(mailbox=mailbox, provider=provider, after=after):
            if row["mailbox"] is not None:
                by_mailbox.setdefault((row["provider"], row["mailbox"]), []).append(row)
        return [
            {"provider": name, "mailbox": address, **_sum_calls(rows, int(window_s * 1000))}
            for (name, address), rows in sorted(by_mailbox.items(), key=str)
        ]

    def forget_calls(self) -> int:
        """Quotas begin anew too."""
        self.spent.forget()
        return self._store.execute_sql("delete from call")


class CallGate:
    """The provider's own limits: they apply to each call alike, also to those inside a batch."""

    def __init__(self, faults: Faults, *, slots: int, latency_s: float, too_many: Callable[[], Reply]) -> None:
        self._faults = faults
        self._slots = slots
        self._latency_s = latency_s
        self._too_many = too_many
        self._busy: Counter[str] = Counter()

    def refuse_if_unavailable(self, mailbox: str | None, path: str, body_of: Callable[[int], Reply]) -> None:
        fault = self._faults.use_fault_once(UnavailableFault, mailbox, lambda fault: fault.concerns(path))
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


def _sum_calls(rows: Iterable[Mapping[str, object]], window_ms: int) -> dict[str, object]:
    calls = [(int(str(row["at_ms"])), int(str(row["units"])), int(str(row["status"]))) for row in rows]
    window: deque[tuple[int, int]] = deque()
    in_window = most = 0
    for at_ms, units, _ in calls:
        window.append((at_ms, units))
        in_window += units
        while window[0][0] <= at_ms - window_ms:
            in_window -= window.popleft()[1]
        most = max(most, in_window)
    return {
        "calls": len(calls),
        "units": sum(units for _, units, _ in calls),
        "failed": sum(status >= 400 for _, _, status in calls),
        "most_units_in_window": most,
    }

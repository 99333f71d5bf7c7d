"""Whose turn it is where tenants share something: however much one of them asks for, no other waits for all of it."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager

from mailroom_common.errors import Unavailable

_MAX_REMEMBERED_TENANTS = 10_000
_MAX_WAITING = 1000


class TenantTurns:
    """The turns as this process has given them out. A tenant that is forgotten again has waited longest."""

    def __init__(self) -> None:
        self._turn_count = 0
        self._last_turns: OrderedDict[str, int] = OrderedDict()  # the number of its last turn, by tenant

    def order_tenants(self, tenants: Iterable[str], in_use: Mapping[str, int]) -> Iterator[str]:
        """Those with the least in use come first, and of them the one that waits longest."""
        waiting = set(tenants)
        while waiting:  # the first is nearly always the one: to sort thousands for it would take the event loop's time
            first = min(waiting, key=lambda tenant_id: (in_use.get(tenant_id, 0), self._last_turns.get(tenant_id, 0)))
            yield first
            waiting.discard(first)

    def record_turn(self, tenant_id: str) -> None:
        self._turn_count += 1
        self._last_turns[tenant_id] = self._turn_count
        self._last_turns.move_to_end(tenant_id)
        if len(self._last_turns) > _MAX_REMEMBERED_TENANTS:
            self._last_turns.popitem(last=False)


class TenantPlaces:
    """So many places, each held by one at a time. Those who wait get one when it is their tenant's turn."""

    def __init__(self, size: int, *, max_waiting: int = _MAX_WAITING) -> None:
        self._free = size
        self._max_waiting = max_waiting
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # no tenant without one who waits
        self._turns = TenantTurns()

    @asynccontextmanager
    async def hold_place(self, tenant_id: str) -> AsyncIterator[None]:
        """
        Raises:
            Unavailable: too many wait already.
        """
        await self._take_place(tenant_id)
        try:
            yield
        finally:
            self._give_back(tenant_id)

    async def _take_place(self, tenant_id: str) -> None:
        if sum(map(len, self._waiting.values())) >= self._max_waiting:
            raise Unavailable(f"{self._max_waiting} wait for a place already")
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant_id, deque()).append(place)
        self._give_out()
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self._remove_waiting(tenant_id, place)
            else:  # it was given at the same moment
                self._give_back(tenant_id)
            raise

    def _give_back(self, tenant_id: str) -> None:
        self._free += 1
        self._held[tenant_id] -= 1
        if not self._held[tenant_id]:
            del self._held[tenant_id]
        self._give_out()

    def _give_out(self) -> None:
        while self._free and self._waiting:
            tenant_id = next(self._turns.order_tenants(self._waiting, self._held))
            place = self._waiting[tenant_id][0]
            self._remove_waiting(tenant_id, place)
            if place.done():  # cancelled, which its owner has yet to notice
                continue
            self._free -= 1
            self._held[tenant_id] += 1
            self._turns.record_turn(tenant_id)
            place.set_result(None)

    def _remove_waiting(self, tenant_id: str, place: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(tenant_id, deque())
        if place in waiting:
            waiting.remove(place)
        if not waiting:
            self._waiting.pop(tenant_id, None)

"""The rule of a budget: never more than its limit within any window of time, counted in slices."""

from dataclasses import dataclass, field
from math import floor

SLICES = 60
"""Of one window. The slice under way and 60 before it are counted, 61/60 of a window: so no window, whenever it starts,
has more than the limit, and a steady caller gets 60/61 of it."""

_BLOCK_SHARE = 100
_RESERVE_SHARE = 15
_BLOCK_HOLDERS = 2  # sync-engine's worker and subscription-manager


@dataclass(frozen=True, slots=True)
class UnitLimit:
    """So many units, or calls, within any window of so many seconds."""

    units: int
    window_s: float = 60.0

    @property
    def block_units(self) -> int:
        """What a process allocates at once: an idle mailbox then needs no allocation for each of its runs."""
        return max(1, self.units // _BLOCK_SHARE)

    @property
    def allocatable_units(self) -> int:
        """A block may be spent long after its allocation, so what each holder may have left does not count as free."""
        return max(1, self.units - _BLOCK_HOLDERS * self.block_units)

    @property
    def reserved_units(self) -> int:
        """What old mail leaves free, so that new mail and renewals never meet a window that is spent."""
        return self.units // _RESERVE_SHARE


@dataclass(frozen=True, slots=True)
class Allocation:
    """`wait_s` is when enough units come back where there are none now; it may then still be too early, as others
    allocate too."""

    units: int
    wait_s: float = 0.0


@dataclass(slots=True)
class AllocationWindow:
    """`allocated` are the units of the newest slice and of those before it. `now` is seconds of a clock that all who
    share the budget have in common."""

    slice_number: int = 0
    allocated: list[int] = field(default_factory=lambda: [0] * (SLICES + 1))

    def allocate_units(
        self, limit: UnitLimit, now: float, *, at_least: int, at_most: int, is_old_mail: bool
    ) -> Allocation:
        self._advance(floor(now * SLICES / limit.window_s))
        reserve = limit.reserved_units if is_old_mail else 0
        # A call that costs more than all there is goes alone rather than never.
        needed = min(at_least, limit.allocatable_units - reserve)
        free = limit.allocatable_units - reserve - sum(self.allocated)
        if free < needed:
            return Allocation(0, self._measure_wait_s(limit, now, missing=needed - free))
        # If old mail took a window's units at once, none would come back until the window is over, and new mail would
        # wait as long.
        if is_old_mail and self.allocated[0] >= limit.units / SLICES:
            return Allocation(0, self._measure_slice_end_s(limit, now))
        units = max(at_least, min(at_most, free))
        self.allocated[0] += units
        return Allocation(units)

    def _measure_slice_end_s(self, limit: UnitLimit, now: float) -> float:
        return max((self.slice_number + 1) * limit.window_s / SLICES - now, 0.001)

    def _advance(self, slice_number: int) -> None:
        """Back only by more than a window, which begins anew: the clock was wrong before, and to wait until it has
        caught up could take days. One that was set back by less counts into the newest slice until then."""
        if self.slice_number - slice_number > SLICES:
            self.slice_number, self.allocated = slice_number, [0] * (SLICES + 1)
            return
        steps = min(max(0, slice_number - self.slice_number), SLICES + 1)
        self.slice_number = max(self.slice_number, slice_number)
        if steps:
            self.allocated = [0] * steps + self.allocated[: SLICES + 1 - steps]

    def _measure_wait_s(self, limit: UnitLimit, now: float, *, missing: int) -> float:
        slice_s = limit.window_s / SLICES
        for age in range(SLICES, -1, -1):
            missing -= self.allocated[age]
            if missing <= 0:
                break
        leaves_at = (self.slice_number + SLICES + 1 - age) * slice_s
        return max(leaves_at - now, 0.001)

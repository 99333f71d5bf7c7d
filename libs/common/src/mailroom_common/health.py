"""Whether a process is alive and ready: the answers of checks that work from memory."""

import time
from collections.abc import Callable

# A loop that did not come round for so long is stuck: its longest work in one piece takes a second or two.
LOOP_STUCK_AFTER_S = 15.0

Check = Callable[[], str | None]
"""None when all is well, else a sentence that says what is not. It must answer at once: no I/O."""


class Health:
    """Readiness says "send me work"; liveness says "do not restart me". A dependency that is down is no reason for
    a restart, so it belongs to the former, if to any."""

    def __init__(self) -> None:
        self._ready: dict[str, Check] = {}
        self._alive: dict[str, Check] = {}
        self._details: dict[str, object] = {}

    def add_readiness(self, name: str, check: Check) -> None:
        self._ready[name] = check

    def add_liveness(self, name: str, check: Check) -> None:
        self._alive[name] = check

    def set_detail(self, name: str, value: object) -> None:
        """A fact that `/readyz` shows beside its answer, whatever the checks say. JSON, and no secret."""
        self._details[name] = value

    def read_details(self) -> dict[str, object]:
        return dict(self._details)

    def failing_readiness(self) -> dict[str, str]:
        """The sentences of the checks that fail, by name."""
        return _collect_failures(self._ready)

    def failing_liveness(self) -> dict[str, str]:
        return _collect_failures(self._alive)


class HealthMirror(Health):
    """The last answers of another `Health`, for a thread: the checks themselves run on the loop of the process."""

    def __init__(self, observed: Health, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._observed = observed
        self._clock = clock
        self.refresh()

    def refresh(self) -> None:
        """Ask the checks. Called on the loop, so that a loop that is stuck shows by the age of the answers."""
        self._failing_readiness = self._observed.failing_readiness()
        self._failing_liveness = self._observed.failing_liveness()
        self._read_details = self._observed.read_details()
        self._refreshed_at_s = self._clock()

    def read_details(self) -> dict[str, object]:
        return self._read_details

    def failing_readiness(self) -> dict[str, str]:
        return self._failing_readiness | self._describe_stuck_loop()

    def failing_liveness(self) -> dict[str, str]:
        return self._failing_liveness | self._describe_stuck_loop()

    def _describe_stuck_loop(self) -> dict[str, str]:
        age_s = self._clock() - self._refreshed_at_s
        return {"loop": f"the process did nothing for {age_s:.0f} s"} if age_s > LOOP_STUCK_AFTER_S else {}


def _collect_failures(checks: dict[str, Check]) -> dict[str, str]:
    results = {name: check() for name, check in checks.items()}
    return {name: sentence for name, sentence in results.items() if sentence is not None}

"""Whether a process is alive and ready: the answers of checks that work from memory."""

from collections.abc import Callable

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


def _collect_failures(checks: dict[str, Check]) -> dict[str, str]:
    results = {name: check() for name, check in checks.items()}
    return {name: sentence for name, sentence in results.items() if sentence is not None}

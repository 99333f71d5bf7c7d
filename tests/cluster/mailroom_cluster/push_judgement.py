"""Whether providers got their answers in time, judged from what the ingress saw of each push. No I/O here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ANSWER_WITHIN_S = 2.9
MIN_SHARE = 0.999
MIN_PUSHES = 3000
# So long after a gateway pod was killed, a connection to it may break: the node's rules still name it for a moment.
RESET_WITHIN_S = 15.0


@dataclass(frozen=True, slots=True)
class Push:
    """`status` is the gateway's answer, None when the connection broke or was refused before there was one."""

    started_at: float
    duration_s: float
    status: int | None


@dataclass(frozen=True, slots=True)
class PushReport:
    """`reset` broke within `RESET_WITHIN_S` of a killed gateway pod; `unanswered` broke at another time.

    `unanswered_after_s` are the seconds from the first push on, and how long each had waited: beside the faults' times
    they say which of them broke it.
    """

    total: int
    in_time: int
    late: int
    reset: int
    unanswered: int
    unanswered_after_s: list[tuple[float, float]]
    statuses: dict[int, int]
    p50_s: float
    p999_s: float

    @property
    def share_in_time(self) -> float:
        counted = self.total - self.reset
        return self.in_time / counted if counted else 0.0

    def find_violations(self, *, least: int = MIN_PUSHES) -> list[str]:
        found = []
        if self.total < least:
            found.append(f"only {self.total} pushes were made, {least} are needed")
        if self.share_in_time < MIN_SHARE:
            missed = f"{self.late} late, {self.unanswered} without an answer"
            found.append(f"{self.share_in_time:.3%} of pushes were answered within {ANSWER_WITHIN_S} s ({missed})")
        return found


def judge_pushes(pushes: Iterable[Push], gateway_killed_at: Sequence[float]) -> PushReport:
    """Any answer counts, a 503 included: a provider that is told so at once calls again, and does not slow us down."""
    seen = list(pushes)
    answered = [push for push in seen if push.status is not None]
    broken = [push for push in seen if push.status is None]
    reset = [push for push in broken if _is_after_kill(push, gateway_killed_at)]
    unanswered = [push for push in broken if push not in reset]
    began_at = min((push.started_at for push in seen), default=0.0)
    durations = sorted(push.duration_s for push in answered)
    in_time = sum(duration <= ANSWER_WITHIN_S for duration in durations)
    statuses: dict[int, int] = {}
    for push in answered:
        if push.status is not None:
            statuses[push.status] = statuses.get(push.status, 0) + 1
    return PushReport(
        total=len(seen),
        in_time=in_time,
        late=len(answered) - in_time,
        reset=len(reset),
        unanswered=len(unanswered),
        unanswered_after_s=[(round(push.started_at - began_at, 1), round(push.duration_s, 3)) for push in unanswered],
        statuses=dict(sorted(statuses.items())),
        p50_s=_find_quantile(durations, 0.5),
        p999_s=_find_quantile(durations, 0.999),
    )


def _is_after_kill(push: Push, killed_at: Sequence[float]) -> bool:
    ended_at = push.started_at + push.duration_s
    return any(push.started_at <= kill + RESET_WITHIN_S and ended_at >= kill for kill in killed_at)


def _find_quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0

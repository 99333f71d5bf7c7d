"""What a check of `mailroom doctor` found, as a line and as JSON."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum


class Outcome(StrEnum):
    OK = "ok"  # as it has to be
    FAILED = "failed"  # `next_step` says what to do
    SKIPPED = "skipped"  # its settings are not in this environment


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`subject` is what was checked, `finding` what was seen, `next_step` what to do where it failed.

    `unset_variable` is why it was skipped. `processes` are those of a site whose settings were checked; none where the
    settings are those of the environment.
    """

    check: str
    subject: str
    outcome: Outcome
    finding: str
    next_step: str | None = None
    unset_variable: str | None = None
    processes: tuple[str, ...] = ()

    def as_line(self) -> str:
        whose = f" [{', '.join(self.processes)}]" if self.processes else ""
        line = f"{self.outcome:8}{self.check:10}{self.subject}: {self.finding}{whose}"
        return line if self.next_step is None else f"{line}\n{'':18}→ {self.next_step}"


def merge_processes(results: Sequence[CheckResult]) -> list[CheckResult]:
    """What several processes of a site have alike, once. What one skips and another was checked for, is left out."""
    checked = {(result.check, result.subject) for result in results if result.outcome is not Outcome.SKIPPED}
    alike: dict[CheckResult, list[str]] = {}
    for result in results:
        if result.outcome is not Outcome.SKIPPED or (result.check, result.subject) not in checked:
            alike.setdefault(replace(result, processes=()), []).extend(result.processes)
    return [replace(result, processes=tuple(processes)) for result, processes in alike.items()]


def to_json(results: Sequence[CheckResult]) -> str:
    return json.dumps([asdict(result) for result in results], ensure_ascii=False)


def describe_counts(results: Sequence[CheckResult]) -> str:
    counts = Counter(result.outcome for result in results)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)


def to_json_object(result: Mapping[str, object]) -> str:
    return json.dumps(result, ensure_ascii=False)

"""What a check of `mailroom doctor` found, as a line and as JSON."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum


class Outcome(StrEnum):
    OK = "ok"  # as it has to be
    FAILED = "failed"  # `next_step` says what to do
    SKIPPED = "skipped"  # its settings are not in this environment


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`subject` is what was checked, `finding` what was seen, `next_step` what to do where it failed."""

    check: str
    subject: str
    outcome: Outcome
    finding: str
    next_step: str | None = None

    def as_line(self) -> str:
        line = f"{self.outcome:8}{self.check:10}{self.subject}: {self.finding}"
        return line if self.next_step is None else f"{line}\n{'':18}→ {self.next_step}"


def to_json(results: Sequence[CheckResult]) -> str:
    return json.dumps([asdict(result) for result in results], ensure_ascii=False)


def describe_counts(results: Sequence[CheckResult]) -> str:
    counts = Counter(result.outcome for result in results)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)


def to_json_object(result: Mapping[str, object]) -> str:
    return json.dumps(result, ensure_ascii=False)

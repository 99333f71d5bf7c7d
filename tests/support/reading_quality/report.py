"""Tables of what was read right, wrong and not at all, as the page docs/quality.md shows them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reading_quality.judging import FIELDS, Judgement, Verdict, list_reliability


@dataclass(frozen=True, slots=True)
class Judged:
    """A document of a `part` of the samples (`e-invoice XML`, `invoice pages`, …), read in `seconds`."""

    part: str
    family: str
    name: str
    judgement: Judgement
    pages: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Passed:
    """Whether a document that holds something was kept, and one that holds nothing was left."""

    part: str
    family: str
    name: str
    expected: str  # `process` or `skip`
    status: str
    reason: str | None

    @property
    def is_right(self) -> bool:
        return (self.status == "skipped") == (self.expected == "skip")


def build_report(judged: Sequence[Judged], passed: Sequence[Passed]) -> str:
    parts = list(dict.fromkeys(item.part for item in judged))
    sections = [_INTRODUCTION, _describe_parts(judged, parts)]
    for part in parts:
        sections += [f"## {part[0].upper()}{part[1:]}", *_describe_part([item for item in judged if item.part == part])]
    sections += ["## Process or skip", _describe_passed(passed)]
    return "\n\n".join(sections) + "\n"


_INTRODUCTION = """# How well documents are read

Written by `make eval`; nobody edits it. It reads `../shared/samples`, which are not in the repository
(`SAMPLES=folder` for others of that shape), and invoices drawn by `tests/support/reading_quality`. A field is *right*,
*wrong*, or *missing* where the document says it and nothing was read; fields whose values are not known are not
counted. Rules know no supplier and no bank by name. A *family* is the layout of one supplier or bank; the mean over
families counts each once, however many documents it has. The samples were all seen while rules were made, so their
figures say little of other suppliers. Of the families that are left out only the sums are looked at, but their words
were written by whoever wrote the rules: they show that a layout and a language are read, not that any supplier is."""


def _describe_parts(judged: Sequence[Judged], parts: Sequence[str]) -> str:
    rows = []
    for part in parts:
        items = [item for item in judged if item.part == part]
        pages = sum(item.pages for item in items)
        wrong = sum(item.judgement.is_wrong_but_completed for item in items)
        completed = sum(item.judgement.status == "completed" for item in items)
        rows.append(
            [
                part,
                str(len(items)),
                *_list_shares([item.judgement for item in items]),
                _show_share(*_average_families(items)),
                f"{completed}",
                f"{wrong}",
                f"{sum(item.seconds for item in items) / pages:.3f}" if pages else "",
            ]
        )
    head = ["", "documents", "right", "wrong", "missing", "mean over families: right", "completed", "of them wrong"]
    return _build_table([*head, "s per page"], rows)


def _describe_part(items: Sequence[Judged]) -> Iterator[str]:
    yield _build_table(
        ["field", "known", "right", "wrong", "missing"], _list_fields([item.judgement for item in items])
    )
    families = sorted({item.family for item in items})
    rows = []
    for family in families:
        own = [item.judgement for item in items if item.family == family]
        statuses = Counter(judgement.reason or judgement.status for judgement in own)
        rows.append(
            [
                family,
                str(len(own)),
                *_list_shares(own),
                ", ".join(f"{number} {status}" for status, number in statuses.most_common()),
            ]
        )
    yield _build_table(["family", "documents", "right", "wrong", "missing", "outcomes"], rows)
    reliability = [
        [label, str(documents), str(read), _show_share(right, read)]
        for label, documents, read, right in list_reliability([item.judgement for item in items])
    ]
    yield _build_table(["confidence", "documents", "fields read", "of them right"], reliability)
    if wrong := [item for item in items if item.judgement.is_wrong_but_completed]:
        yield "Completed, and wrong: " + "; ".join(_name_wrong_fields(item) for item in wrong) + "."


def _name_wrong_fields(item: Judged) -> str:
    wrong = [field for field, verdict in item.judgement.verdicts.items() if verdict is Verdict.WRONG]
    return f"{item.name} ({', '.join(wrong)})"


def _list_fields(judgements: Sequence[Judgement]) -> Iterator[list[str]]:
    for field in FIELDS:
        verdicts = Counter(judgement.verdicts[field] for judgement in judgements if field in judgement.verdicts)
        if known := verdicts.total():
            yield [field, str(known), *(str(verdicts[verdict]) for verdict in Verdict)]


def _list_shares(judgements: Iterable[Judgement]) -> list[str]:
    counts = Counter(verdict for judgement in judgements for verdict in judgement.verdicts.values())
    return [_show_share(counts[verdict], counts.total()) for verdict in Verdict]


def _average_families(items: Sequence[Judged]) -> tuple[float, float]:
    """The sum of the families' shares of right fields, and the number of families."""
    shares = []
    for family in {item.family for item in items}:
        counts = Counter(
            verdict for item in items if item.family == family for verdict in item.judgement.verdicts.values()
        )
        if counts.total():
            shares.append(counts[Verdict.RIGHT] / counts.total())
    return sum(shares), len(shares)


def _describe_passed(passed: Sequence[Passed]) -> str:
    rows = []
    for part in dict.fromkeys(item.part for item in passed):
        items = [item for item in passed if item.part == part]
        wrong = Counter(item.family for item in items if not item.is_right)
        rows.append(
            [
                part,
                str(len(items)),
                _show_share(len(items) - wrong.total(), len(items)),
                ", ".join(f"{family} {number}" for family, number in wrong.most_common()),
            ]
        )
    return _build_table(["", "documents", "right", "not right, by family"], rows)


def _show_share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _build_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

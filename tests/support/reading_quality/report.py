"""Tables of what was read right, wrong and not at all, as the page docs/quality.md shows them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reading_quality.judging import FIELDS, Judgement, Verdict, list_reliability
from reading_quality.trade_judging import LEFT_OUT_BROKERS, MAIN_FIELDS, TRADE_FIELDS


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
    is_odd: bool = False  # what is expected contradicts what is printed

    @property
    def is_right(self) -> bool:
        return (self.status == "skipped") == (self.expected == "skip")


@dataclass(frozen=True, slots=True)
class CountedTrades:
    """A document with several trades, or with none: whether just these were read, and whether it was completed."""

    split: str
    name: str
    trades: int
    is_right: bool
    is_completed: bool


def build_report(judged: Sequence[Judged], passed: Sequence[Passed], counted: Sequence[CountedTrades] = ()) -> str:
    parts = list(dict.fromkeys(item.part for item in judged))
    sections = [_INTRODUCTION, _describe_parts(judged, parts)]
    for part in parts:
        sections += [f"## {part[0].upper()}{part[1:]}", *_describe_part([item for item in judged if item.part == part])]
    if counted:
        sections += ["## Documents with several trades, or with none", _describe_counted(counted)]
    sections += ["## Process or skip", _describe_passed(passed)]
    return "\n\n".join(sections) + "\n"


_INTRODUCTION = (
    """# How well documents are read

Written by `make eval`; nobody edits it. It reads `../shared/samples`, which are not in the repository
(`SAMPLES=folder` for others of that shape), and invoices drawn by `tests/support/reading_quality`. A field is *right*,
*wrong*, or *missing* where the document says it and nothing was read; fields whose values are not known are not
counted. Rules know no supplier and no bank by name. A *family* is the layout of one supplier or bank; the mean over
families counts each once, however many documents it has. The samples were all seen while rules were made, so their
figures say little of other suppliers. Of the families that are left out only the sums are looked at, but their words
were written by whoever wrote the rules: they show that a layout and a language are read, not that any supplier is.
Of the notes of brokers and banks these families are left out: """
    + ", ".join(sorted(LEFT_OUT_BROKERS))
    + """. Some of
what `deutschebank` has was seen after it had been measured; no rule was made for it. The truth of eleven documents is
odd: `deutschebank` Kauf03 to Kauf06 are purchases to which it gives no trade, and so are the sales and purchases in the
statements `consorsbank` Kontoauszug01 to 03, `quirinbankag` Depotauszug05 and 06, `oldenburgischelandesbankag`
Kontoauszug01, and what `dadatbankenhaus` StornoKontoauszug01 takes back. The quantity of a bond is its face value here,
and a hundredth of it there. Drawn notes are of our own making too, in seven languages; their left-out families have
another set of words, or a layout that no rule was made on. So are papers of banks in which nothing was traded, and
notes of trades that speak of income. Pictures are read by OCR, which `make eval` switches on,
and a site by `MAILROOM_OCR_PROCESSES`."""
)


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
    if any("direction" in item.judgement.verdicts for item in items):
        yield _describe_main_fields(items)
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


def _describe_main_fields(items: Sequence[Judged]) -> str:
    counts = Counter(
        item.judgement.verdicts[name] for item in items for name in MAIN_FIELDS if name in item.judgement.verdicts
    )
    shares = ", ".join(f"{_show_share(counts[verdict], counts.total())} {verdict}" for verdict in Verdict)
    return f"ISIN, side, date, quantity and amount together: {shares}."


def _name_wrong_fields(item: Judged) -> str:
    wrong = [field for field, verdict in item.judgement.verdicts.items() if verdict is Verdict.WRONG]
    return f"{item.name} ({', '.join(wrong)})"


def _list_fields(judgements: Sequence[Judgement]) -> Iterator[list[str]]:
    for field in dict.fromkeys((*FIELDS, *TRADE_FIELDS)):
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
        odd = sum(item.is_odd for item in items)
        rows.append(
            [
                part,
                str(len(items)),
                _show_share(len(items) - wrong.total(), len(items)),
                _show_share(sum(item.is_right for item in items if not item.is_odd), len(items) - odd),
                str(sum(not item.is_right and item.expected == "process" for item in items)),
                ", ".join(f"{family} {number}" for family, number in wrong.most_common()),
            ]
        )
    head = ["", "documents", "right", "right where the truth is not odd", "skipped wrongly", "not right, by family"]
    return _build_table(head, rows)


def _describe_counted(counted: Sequence[CountedTrades]) -> str:
    rows = []
    for split in sorted({item.split for item in counted}):
        for has_trades, title in ((True, "several trades"), (False, "none")):
            if not (items := [item for item in counted if item.split == split and (item.trades > 0) is has_trades]):
                continue
            completed = [item for item in items if item.is_completed]
            wrong = ", ".join(item.name for item in completed if not item.is_right)
            right = sum(item.is_right for item in items)
            rows.append([f"{split}: {title}", str(len(items)), str(right), str(len(completed)), wrong])
    return _build_table(["", "documents", "all trades right", "completed", "of them wrong"], rows)


def _show_share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def _build_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

from reading_quality.judging import Judgement, Verdict
from reading_quality.report import Judged, Passed, build_report

RIGHT, WRONG, MISSING = Verdict.RIGHT, Verdict.WRONG, Verdict.MISSING


def judged(family: str, *verdicts: Verdict, status: str = "completed") -> Judged:
    fields = dict(zip(("currency", "iban"), verdicts, strict=False))
    return Judged("invoice pages", family, f"{family}.pdf", Judgement(fields, status, None, 0.9, None), 2, 0.1)


def test_fields_and_families_are_added_up_and_each_family_counts_once() -> None:
    page = build_report([judged("a", RIGHT, RIGHT), judged("a", RIGHT, RIGHT), judged("b", WRONG, MISSING)], [])
    assert "| invoice pages | 3 | 66.7 % | 16.7 % | 16.7 % | 50.0 % | 3 | 1 | 0.050 |" in page
    assert "| currency | 3 | 2 | 1 | 0 |" in page
    assert "| b | 1 | 0.0 % | 50.0 % | 50.0 % | 1 completed |" in page
    assert "Completed, and wrong: b.pdf (currency)." in page


def test_an_invoice_that_is_skipped_and_a_note_that_is_kept_are_not_right() -> None:
    passed = [
        Passed("invoices", "a", "1.pdf", "process", "needs_review", "fields_missing"),
        Passed("invoices", "b", "2.pdf", "process", "skipped", "not_an_invoice"),
        Passed("notes", "bank", "3.pdf", "skip", "needs_review", "fields_missing"),
        Passed("notes", "bank", "4.pdf", "skip", "skipped", "not_an_invoice"),
    ]
    page = build_report([], passed)
    assert "| invoices | 2 | 50.0 % | 50.0 % | 1 | b 1 |" in page
    assert "| notes | 2 | 50.0 % | 50.0 % | 0 | bank 1 |" in page


def test_what_is_expected_oddly_is_shown_apart() -> None:
    passed = [
        Passed("notes", "bank", "1.pdf", "skip", "needs_review", None, is_odd=True),
        Passed("notes", "bank", "2.pdf", "skip", "skipped", "no_trade"),
    ]
    assert "| notes | 2 | 50.0 % | 100.0 % | 0 | bank 1 |" in build_report([], passed)

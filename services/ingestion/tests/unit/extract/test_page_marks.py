"""Stamps, watermarks and lines by which a paper counts no more send it to a person; ordinary ones do not."""

from dataclasses import replace

import pytest

from ingestion.domain.page_marks import PageMarks, Stamp
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import Transcript
from ingestion.extract.page_marks import find_doubt_of_marks

PAGE = """Harrow & Vale Stockbrokers Ltd
Contract note
Damaged goods are replaced free of charge.
Total 4,539.90"""


def is_doubted(text: str = PAGE, *stamps: Stamp) -> bool:
    transcript = replace(Transcript.from_rows(text.splitlines()), marks=PageMarks(stamps=stamps))
    return find_doubt_of_marks(transcript) is ReviewReason.STAMPED


@pytest.mark.parametrize("words", ["NOT EXECUTED", "REPLACED", "SUPERSEDED BY CN-4712", "ANNULÉ ET REMPLACÉ"])
def test_large_words_across_a_page_are_a_doubt_though_a_sentence_has_them_too(words: str) -> None:
    assert is_doubted(PAGE, Stamp(words, is_large=True))


@pytest.mark.parametrize("words", ["HARROW & VALE", "Harrow&Vale", "Stockbrokers", "CLIENT COPY", "Page 1 of 1"])
def test_the_name_of_a_company_and_words_for_a_copy_across_a_page_are_none(words: str) -> None:
    assert not is_doubted(PAGE, Stamp(words, is_large=True))


def test_small_words_across_a_page_are_a_doubt_where_one_takes_the_paper_back() -> None:
    assert is_doubted(PAGE, Stamp("VOID - replaced by 2026-0455", is_large=False))
    assert not is_doubted(PAGE, Stamp("January", is_large=False))


@pytest.mark.parametrize(
    "line",
    [
        "VOID - replaced by 2026-0455",
        "STORNIERT durch 2026-0455",
        "ANNULÉE par avoir 26-45",
        "ANULADA por 2026-0455",
    ],
)
def test_a_line_that_says_what_came_in_the_place_of_the_paper_is_a_doubt(line: str) -> None:
    assert is_doubted(f"{PAGE}\n{line}")
    assert not is_doubted(f"{PAGE}\n{line.capitalize()}")


@pytest.mark.parametrize("line", ["NOT EXECUTED", "NICHT BUCHEN", "NE PAS COMPTABILISER", "NO CONTABILIZAR"])
def test_a_denial_in_capitals_above_all_else_is_a_doubt(line: str) -> None:
    assert is_doubted(f"{line}\n{PAGE}")
    assert not is_doubted(f"{PAGE}\n{line}")


@pytest.mark.parametrize("line", ["NO LIMITS LTD", "NO. 4471", "CANCELLED ORDERS 12.00", "CONTRACT NOTE"])
def test_other_lines_in_capitals_are_none(line: str) -> None:
    assert not is_doubted(f"{line}\n{PAGE}")

"""Words that mention a document, in several languages, whole or within compounds."""

import pytest

from mailroom_common.events import Profile
from sync_engine.domain.document_words import mentions_document


@pytest.mark.parametrize(
    "text",
    [
        "Ihre Stromrechnung",  # within a compound
        "Reçu_n°12",  # accents, underscores and numbers
        "FACTURE 2026-11",
        "Vos factures",
        "energiafaktura",
        "請求書",
        "your credit-note",
        "IBAN DE89",
        "bill",
    ],
)
def test_invoices_are_mentioned(text: str) -> None:
    assert mentions_document(Profile.INVOICE, text)


@pytest.mark.parametrize("text", ["Re: lunch", "billion users", "the inventory", "Abandon", "", None])
def test_ordinary_words_mention_nothing(text: str | None) -> None:
    assert not mentions_document(Profile.INVOICE, text)


def test_words_of_trades_count_for_contract_notes_only() -> None:
    assert mentions_document(Profile.CONTRACT_NOTE, "Kauf Aktien")
    assert not mentions_document(Profile.INVOICE, "Kauf Aktien")


def test_any_of_the_texts_is_enough() -> None:
    assert mentions_document(Profile.INVOICE, None, "hello", "invoice.pdf")


def test_letters_that_become_many_are_cut_after_that() -> None:
    # U+FDFA becomes 18 characters.
    assert mentions_document(Profile.INVOICE, "\ufdfa" * 50 + " invoice")
    assert not mentions_document(Profile.INVOICE, "\ufdfa" * 900 + " invoice")

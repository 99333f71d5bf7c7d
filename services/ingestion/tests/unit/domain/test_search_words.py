from typing import Any

import pytest

from ingestion.domain.search_words import build_duplicate_key, build_word_query, fold_words, list_document_words

FIELDS: dict[str, Any] = {
    "supplier_name": "Müller & Söhne",
    "invoice_number": "RE-7",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "119.00",
    "lines": [{"description": "Schrauben", "amount": "1.00"}],
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Müller & Söhne GmbH", ["muller", "sohne", "gmbh"]),
        ("STRAßE_7", ["strasse", "7"]),
        ("billing@shop.example", ["billing", "shop", "example"]),
        ("'\\:*|&! ", []),
        ("x" * 50, ["x" * 40]),
    ],
)
def test_words_are_folded_alike_wherever_they_come_from(text: str, words: list[str]) -> None:
    assert fold_words(text) == words


def test_a_documents_words_are_those_of_its_mail_its_fields_and_its_lines_behind_the_tenant() -> None:
    source = {"from": "billing@shop.example", "subject": "April", "attachment_filename": "a.pdf", "received_at": "2026"}
    words = list_document_words("acme", source, FIELDS)
    assert {"s:acme/muller", "a:acme/muller", "a:acme/april", "a:acme/schrauben", "a:acme/billing"} <= set(words)
    assert "s:acme/april" not in words
    assert all(word[1:].startswith(":acme/") for word in words)
    assert list_document_words("acme", {}, None) == []


def test_the_words_of_one_document_are_bounded() -> None:
    lines = [{"description": f"word{number}"} for number in range(5000)]
    assert len(list_document_words("acme", {}, {**FIELDS, "lines": lines})) == 2000


def test_what_is_asked_for_cannot_become_another_query() -> None:
    query = build_word_query("ac'me", text="a' | 'other/b \\", supplier="Mü")
    assert query == "'a:ac''me/a' & 'a:ac''me/other' & 'a:ac''me/b' & 's:ac''me/mu'"
    assert build_word_query("acme", text=None, supplier=None) is None


def test_the_same_invoice_has_one_key_however_its_supplier_is_written() -> None:
    key = build_duplicate_key("invoice", FIELDS)
    assert key is not None
    assert (
        build_duplicate_key("invoice", {**FIELDS, "supplier_name": "MULLER & Sohne", "invoice_number": "re 7"}) == key
    )


@pytest.mark.parametrize("changed", [{"invoice_number": "RE-8"}, {"total_gross": "119.01"}, {"currency": "USD"}])
def test_another_number_total_or_currency_is_another_key(changed: dict[str, str]) -> None:
    assert build_duplicate_key("invoice", {**FIELDS, **changed}) != build_duplicate_key("invoice", FIELDS)
    assert build_duplicate_key("credit_note", FIELDS) != build_duplicate_key("invoice", FIELDS)


@pytest.mark.parametrize("missing", ["supplier_name", "invoice_number", "issue_date", "currency", "total_gross"])
def test_what_lacks_a_field_is_like_nothing_else(missing: str) -> None:
    assert build_duplicate_key("invoice", {**FIELDS, missing: None}) is None
    assert build_duplicate_key("invoice", None) is None
    assert build_duplicate_key("invoice", {**FIELDS, "invoice_number": "--"}) is None

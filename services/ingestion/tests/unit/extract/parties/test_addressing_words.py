"""Whom letters are written to, as eleven languages begin an address."""

import pytest

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.parties.addressing_words import drop_address_words, is_addressee
from ingestion.extract.parties.bare_addresses import list_bare_addresses

ADDRESS = ["Beispiel AG", "Weg 8", "12345 Stadt"]


def page(*rows: str) -> tuple[TextLine, ...]:
    return Transcript.from_rows(("Invoice 7", "", *rows, "", "Total 10.00")).lines


@pytest.mark.parametrize(
    "words",
    [
        "Exmo.(s) Sr.(s)",
        "Exmos. Senhores",
        "Exmo(s) Sr(s).",
        "Ex.mo Senhor",
        "Spett.le",
        "Spett.le Ditta",
        "Egr. Sig.",
        "Gent.ma Sig.ra",
        "Sr./Sra.",
        "Señores",
        "À l'attention de",
        "A l'attention de",
        "Monsieur, Madame",
        "T.a.v.",
        "De heer",
        "z. Hd.",
        "Herrn/Frau/Firma",
        "Sz. P.",
        "Szanowny Pan",
        "Vážený pan",
        "Att.",
        "Attn:",
        "Firma",
        "Messrs",
    ],
)
def test_words_over_a_name_say_that_a_letter_is_written_to_it_and_so_do_they_alone(words: str) -> None:
    assert is_addressee(page(words, *ADDRESS), 2, 0)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Exmos. Senhores Beispiel AG", "Beispiel AG"),
        ("Spett.le Beispiel AG", "Beispiel AG"),
        ("Egr. Sig. Anna Kunz", "Anna Kunz"),
        ("Sz. P. Anna Kunz", "Anna Kunz"),
        ("Vážená paní Anna Kunz", "Anna Kunz"),
        ("Frau Anna Kunz", "Anna Kunz"),
        ("Ms Anna Kunz", "Anna Kunz"),
        ("Mme Anna Kunz", "Anna Kunz"),
        ("Sig.ra Anna Kunz", "Anna Kunz"),
        ("mevrouw Anna Kunz", "Anna Kunz"),
        ("Firma Beispiel AG", "Beispiel AG"),
    ],
)
def test_words_before_a_name_are_no_part_of_it(text: str, name: str) -> None:
    assert is_addressee(page(text, *ADDRESS[1:]), 1, 0)
    assert drop_address_words(text) == name


@pytest.mark.parametrize(
    "below",
    ["z. Hd. Frau Kunz", "Frau Anna Kunz", "Att. Anna Kunz", "Att: Anna Kunz", "T.a.v. Anna Kunz", "C.a. Anna Kunz"],
)
def test_a_business_over_whom_there_the_letter_is_for_is_written_to(below: str) -> None:
    assert is_addressee(page("Beispiel AG", below, *ADDRESS[1:]), 1, 0)


@pytest.mark.parametrize(
    ("text", "below"),
    [
        ("Beispiel AG", "Weg 8"),
        ("Summa", "Att betala 100,00"),  # `Att.` has a full stop, or a colon
        ("Frau Anna Kunz", "Tel. 030 1234567"),  # whom one may ask
        ("M. Kowalczyk Plastering", "Weg 8"),
        ("Mr Sparkle Ltd", "Weg 8"),
    ],
)
def test_other_words_address_nobody(text: str, below: str) -> None:
    assert not is_addressee(page(text, below), 1, 0)


@pytest.mark.parametrize(
    "town",
    [
        "12345 Stadt",
        "A-6020 Innsbruck",
        "1234 AB Stad",
        "110 00 Praha",
        "00-001 Warszawa",
        "1000-001 Lisboa",
        "Leeds LS1 4DE",
        "Limerick V94 X2P4",
        "Austin, TX 78701",
    ],
)
def test_a_name_over_a_street_and_a_town_of_any_country_is_a_bare_address(town: str) -> None:
    assert [address.name for address in list_bare_addresses(page("Beispiel AG", "Weg 8", town))] == ["beispiel"]


@pytest.mark.parametrize("own", ["Tel. 030 1234567", "info@beispiel.example", "VAT DE136695976", "IBAN DE89 3704", ""])
def test_an_address_with_a_number_or_a_telephone_is_not_bare(own: str) -> None:
    assert bool(list_bare_addresses(page(*ADDRESS, own))) is (own == "")


def test_a_name_that_ends_with_a_number_may_stand_over_a_street() -> None:
    lines = page("BRF Björken 4", "Storgatan 18", "903 26 Umeå", "", "Storgatan 18", "903 26 Umeå")
    assert [address.name for address in list_bare_addresses(lines)] == ["brfbjrken4"]

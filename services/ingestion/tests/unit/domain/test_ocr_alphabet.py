from ingestion.domain.ocr_alphabet import build_alphabet


def test_letters_of_languages_that_were_not_named_are_not_read() -> None:
    german = build_alphabet(["de"])
    assert set("Größe 1.234,50 €") <= german
    assert not german & set("øłñ")


def test_each_language_adds_its_letters() -> None:
    assert set("øłñß") <= build_alphabet(["da", "pl", "es", "de"])

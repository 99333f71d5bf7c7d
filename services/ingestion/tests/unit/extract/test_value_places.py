"""Where the value of a label stands: behind it, to its right, below it, and where nobody can tell."""

from invoice_rows import read_dates, read_number

LABELS = "Invoice no.    Invoice date    Due date"
VALUES = "HM-20441       03/11/2026      03/12/2026"


def test_a_row_of_labels_has_its_values_in_the_row_below() -> None:
    rows = ("Invoice", LABELS, VALUES, "Total  £10.00")
    assert (read_number(*rows), *read_dates(*rows)) == ("HM-20441", "2026-11-03", "2026-12-03")


def test_labels_whose_values_may_stand_above_them_have_none() -> None:
    rows = ("Invoice", "Example", VALUES, LABELS, "Description    14/10/2026      Amount", "Total  £10.00")
    assert (read_number(*rows), *read_dates(*rows)) == (None, "None", "None")


def test_below_other_labels_a_row_of_values_is_theirs() -> None:
    rows = ("Invoice", "Order no.    Our ref.", "88213        77", LABELS, VALUES, "Total  £10.00")
    assert (read_number(*rows), *read_dates(*rows)) == ("HM-20441", "2026-11-03", "2026-12-03")
    rows = (
        "Invoice",
        LABELS,
        VALUES,
        "Order no.    Our ref.    Your ref.",
        "88213        77          78",
        "Total  £10.00",
    )
    assert (read_number(*rows), *read_dates(*rows)) == ("HM-20441", "2026-11-03", "2026-12-03")


def test_of_labels_and_values_in_turn_those_that_end_with_a_label_have_their_values_above() -> None:
    above = ("HM-20441", "Invoice no.", "03/11/2026", "Invoice date", "03/12/2026", "Due date")
    below = ("Invoice no.", "HM-20441", "Invoice date", "03/11/2026", "Due date", "03/12/2026")
    for values, expected in ((above, (None, "None", "None")), (below, ("HM-20441", "2026-11-03", "2026-12-03"))):
        rows = ("Invoice", "Example", "", "", *values, "", "Total  £10.00")
        assert (read_number(*rows), *read_dates(*rows)) == expected


def test_a_label_without_a_value_in_its_row_takes_none_from_further_below() -> None:
    rows = ("Invoice", LABELS, f"{'':15}03/11/2026      03/12/2026", "PO-88213", "Total  £10.00")
    assert read_number(*rows) is None
    assert read_dates(*rows) == ("2026-11-03", "2026-12-03")


def test_words_above_labels_are_no_values_of_theirs() -> None:
    rows = ("Invoice", "Canal Road 14  Harrogate HG1   Room 3B", LABELS, VALUES, "Total  £10.00")
    assert (read_number(*rows), *read_dates(*rows)) == ("HM-20441", "2026-11-03", "2026-12-03")


def test_two_rows_of_values_above_labels_are_none_with_labels_of_its_own() -> None:
    rows = ("Invoice", "Example", "77             78              79", VALUES, LABELS, "Text    14/10/2026  Amount")
    assert (read_number(*rows), *read_dates(*rows)) == (None, "None", "None")


def test_a_number_above_a_label_that_has_its_value_below_is_another_ones() -> None:
    rows = ("Invoice", "Example", "", "", "10121", "Invoice no.", "HM-20441", "", "Total  £10.00")
    assert read_number(*rows) == "HM-20441"


def test_a_row_of_words_may_stand_between_labels_and_their_values() -> None:
    rows = ("Invoice no.    Invoice date", f"{'':15}(day, month)", "HM-20441       03/11/2026", "Total  £10.00")
    assert read_number("Invoice", *rows) == "HM-20441"


def test_below_more_labels_than_values_each_has_what_stands_under_it() -> None:
    rows = ("Order no.      Invoice no.    Invoice date", f"{'':15}HM-20441       03/11/2026", "Total  £10.00")
    assert (read_number("Invoice", *rows), read_dates("Invoice", *rows)[0]) == ("HM-20441", "2026-11-03")


def test_below_one_label_only_what_stands_under_it_is_its_value() -> None:
    assert read_number("Invoice", "Example", "Invoice no.", f"{'':60}88213") is None
    assert read_number("Invoice", "Example", "Invoice no.", "88213") == "88213"

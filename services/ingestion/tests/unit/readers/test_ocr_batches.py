import pytest

from ingestion.readers.ocr_batches import form_batches, measure_length


def test_pieces_of_the_same_length_are_read_together_whatever_their_order_on_the_page() -> None:
    assert list(form_batches([7.0, 20.0, 7.0, 20.0, 7.0])) == [[0, 2, 4], [1, 3]]


def test_short_pieces_are_read_six_together_and_a_long_one_alone() -> None:
    assert [len(batch) for batch in form_batches([7.0] * 13)] == [6, 6, 1]
    assert list(form_batches([40.0, 30.0, 90.0])) == [[1], [0], [2]]


def test_nothing_makes_no_batch() -> None:
    assert list(form_batches([])) == []


@pytest.mark.parametrize(("width", "length"), [(1.0, 320 / 48), (20.0, 20.5), (5000.0, 100.0)])
def test_a_piece_has_paper_behind_it_and_is_as_long_as_the_model_takes_it(width: float, length: float) -> None:
    assert measure_length(width, 1.0) == length

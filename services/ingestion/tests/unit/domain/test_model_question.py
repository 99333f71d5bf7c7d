from ingestion.domain.model_question import INSTRUCTIONS, INVOICE_SCHEMA, TYPE_SCHEMA, build_question
from ingestion.domain.transcript import Transcript

PAGE = Transcript.from_rows(["Invoice 1", "Total  10.00"])


def test_a_document_stands_between_two_lines_with_a_random_mark() -> None:
    question = build_question(PAGE, mark="5f", with_fields=True, answer_tokens=100)
    assert question.text == "DOCUMENT 5f begins\nInvoice 1\nTotal  10.00\nDOCUMENT 5f ends"
    assert question.schema == INVOICE_SCHEMA


def test_only_the_kind_is_asked_where_no_fields_are_wanted() -> None:
    assert build_question(PAGE, mark="5f", with_fields=False, answer_tokens=100).schema == TYPE_SCHEMA


def test_the_file_goes_in_place_of_its_text() -> None:
    question = build_question(PAGE, mark="5f", with_fields=True, answer_tokens=100, pdf=b"%PDF-")
    assert (question.text, question.pdf) == ("", b"%PDF-")
    assert question.most_input_tokens > 3_000


def test_the_limit_is_held_against_more_tokens_than_a_text_can_have() -> None:
    letters = "漢" * 1000  # a token each
    question = build_question(Transcript.from_rows([letters]), mark="5f", with_fields=True, answer_tokens=100)
    assert question.most_input_tokens >= 1000 + len(INSTRUCTIONS) // 4


def test_each_field_must_be_answered_and_no_other_can_be() -> None:
    assert INVOICE_SCHEMA["additionalProperties"] is False
    assert INVOICE_SCHEMA["required"] == list(INVOICE_SCHEMA["properties"])

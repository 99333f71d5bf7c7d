"""Which documents are read again, as a person or a program asks for it."""

import pytest
from pydantic import ValidationError

from ingestion.api.reprocess import ReprocessRequest


@pytest.mark.parametrize(
    "wrong", [{"status": "pending"}, {"status": "processing"}, {"doc_source_id": "ap@company.example"}]
)
def test_what_matches_no_document_is_refused_rather_than_found_nowhere(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        ReprocessRequest.model_validate({"replay_id": "r1", **wrong})
    given = {"status": "needs_review", "doc_source_id": "0b8f0f4e-6a7c-4a53-9d53-0f6f2c1f9c11"}
    wanted = ReprocessRequest.model_validate({"replay_id": "r1", **given}).to_filter()
    assert (wanted.status, wanted.doc_source_id) == (given["status"], given["doc_source_id"])

from typing import Any

from ingestion_fakes import NOW

from ingestion.domain.views import build_attachment_view, build_document_view

DOCUMENT: dict[str, Any] = {
    "document_id": "d1",
    "doc_source_id": "s1",
    "tenant_id": "acme",
    "status": "completed",
    "skip_reason": None,
    "review_reason": None,
    "content_sha256": "00",
    "content_type": "application/pdf",
    "size_bytes": 3,
    "source_metadata": {"provider": "gmail"},
    "document_type": "invoice",
    "extraction": {"invoice_number": "1"},
    "confidence": 0.9,
    "reader": "layout-rules/2",
    "result_number": 3,
    "review_decision": "confirmed",
    "reviewed_at": NOW,
    "profile": "invoice",
    "possible_duplicates": ["d2"],
    "trades": [{"id": "t1", "state": "counted"}],
    "created_at": NOW,
    "updated_at": NOW,
    # What a client has no use for.
    "lease_token": "secret",
    "blob_key": "documents/d1.pdf",
    "retry_cause": "internal",
}
INTAKE: dict[str, Any] = {
    "attachment_id": "a1",
    "document_id": "d1",
    "provider": "gmail",
    "message_id": "m1",
    "internet_message_id": None,
    "part_path": "1",
    "filename": "invoice.pdf",
    "detected_content_type": "application/pdf",
    "size_bytes": 3,
    "sender_address": "a@b.example",
    "subject": "s",
    "received_at": None,
    "folder": "INBOX",
    "recorded_at": NOW,
    "uploaded_blob_key": "documents/a1.pdf",
}


def test_a_document_shows_no_column_that_is_only_ours() -> None:
    view = build_document_view(DOCUMENT)
    assert not view.keys() & {"document_id", "lease_token", "blob_key", "retry_cause"}
    assert (view["id"], view["created_at"]) == ("d1", "2026-04-02T08:00:00.000Z")


def test_a_document_says_which_version_it_is_and_what_a_person_decided() -> None:
    view = build_document_view(DOCUMENT)
    assert view["possible_duplicates"] == ["d2"]
    assert view["trades"] == [{"id": "t1", "state": "counted"}]
    assert (view["version"], view["reader"]) == (3, "layout-rules/2")
    assert view["review"] == {"decision": "confirmed", "decided_at": "2026-04-02T08:00:00.000Z"}
    assert build_document_view({**DOCUMENT, "review_decision": None})["review"] is None


def test_an_attachment_says_of_which_document_it_is_a_duplicate() -> None:
    assert build_attachment_view(INTAKE)["duplicate_of"] == "d1"
    assert build_attachment_view({**INTAKE, "attachment_id": "d1"})["duplicate_of"] is None


def test_a_time_that_the_mail_does_not_have_is_null() -> None:
    assert build_attachment_view(INTAKE)["received_at"] is None
    assert build_attachment_view({**INTAKE, "received_at": NOW})["received_at"] == "2026-04-02T08:00:00.000Z"

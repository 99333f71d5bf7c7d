"""What rows of `ingestion.document` and `ingestion.intake` say, as domain types."""

from typing import Any

from ingestion.domain.document import AttachmentId, DocumentAttachment, DocumentOutcome
from ingestion.domain.reasons import read_stored_reason
from mailroom_common.events import ResultStatus


def read_outcome(document: Any) -> DocumentOutcome:
    """The outcome that a final document's row describes."""
    skip_reason = document["skip_reason"]
    reason = skip_reason or document["review_reason"]
    return DocumentOutcome(
        status=ResultStatus(document["status"]),
        reason=None if reason is None else read_stored_reason(reason, is_skipped=skip_reason is not None),
        document_type=document["document_type"],
        extraction=document["extraction"],
        confidence=document["confidence"],
        reader=document["reader"],
        archive_path=None if document["is_archive_path_reserved"] else document["archive_path"],
    )


def read_attachment(intake: Any) -> DocumentAttachment:
    return DocumentAttachment(
        attachment_id=AttachmentId(intake["attachment_id"]),
        tenant_id=intake["tenant_id"],
        doc_source_id=intake["doc_source_id"],
        provider=intake["provider"],
        message_id=intake["message_id"],
        internet_message_id=intake["internet_message_id"],
        part_path=intake["part_path"],
        filename=intake["filename"],
        detected_content_type=intake["detected_content_type"],
        size_bytes=intake["size_bytes"],
        uploaded_blob_key=intake["uploaded_blob_key"],
        sender_address=intake["sender_address"],
        subject=intake["subject"],
        received_at=intake["received_at"],
        folder=intake["folder"],
    )

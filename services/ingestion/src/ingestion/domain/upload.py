"""A document that a person uploads, as the attachment of a doc source that no mailbox is behind."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from mailroom_common.events import AttachmentStored, Profile, derive_attachment_id, derive_event_id

MANUAL_UPLOAD = "manual_upload"  # its provider, and the source in the metadata of its copy in the archive
MAX_UPLOAD_BYTES = 25 * 1024 * 1024  # as large as an attachment of a mail

_NAMESPACE = UUID("f0f1a0c6-2c3f-4b5e-9a63-6f1f5b0f7d52")
_PART_PATH = "0"


def derive_manual_source_id(tenant_id: str, profile: Profile) -> str:
    """All uploads of a tenant for a profile are one doc source: the same content is one document there."""
    return str(uuid5(_NAMESPACE, f"{tenant_id}\x1f{profile.value}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUpload:
    """`upload_id` is a UUID of its own: the same file uploaded twice is two attachments of one document."""

    upload_id: UUID
    tenant_id: str
    profile: Profile
    filename: str | None
    api_key_id: str

    @property
    def message_id(self) -> str:
        return f"upload-{self.upload_id}"

    @property
    def attachment_id(self) -> str:
        return derive_attachment_id(derive_manual_source_id(self.tenant_id, self.profile), self.message_id, _PART_PATH)

    def build_attachment(
        self, *, blob_key: str, content_type: str, size_bytes: int, content_sha256: str, received_at: datetime
    ) -> AttachmentStored:
        return AttachmentStored(
            event_id=derive_event_id("attachments", self.attachment_id),
            occurred_at=received_at,
            tenant_id=self.tenant_id,
            doc_source_id=derive_manual_source_id(self.tenant_id, self.profile),
            attachment_id=self.attachment_id,
            provider=MANUAL_UPLOAD,
            profile=self.profile,
            message_id=self.message_id,
            part_path=_PART_PATH,
            filename=self.filename,
            content_type=content_type,
            size_bytes=size_bytes,
            content_sha256=content_sha256,
            blob_key=blob_key,
            received_at=received_at,
        )

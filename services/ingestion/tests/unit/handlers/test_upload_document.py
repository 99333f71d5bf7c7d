from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from ingestion_fakes import NOW, PDF

from ingestion.domain.upload import MAX_UPLOAD_BYTES, NewUpload, derive_manual_source_id
from ingestion.handlers.upload_document import DocumentUploader, EmptyUpload, UnknownContent, UploadTooLarge
from mailroom_common.blobs import StoredBlob
from mailroom_common.events import AttachmentStored, Profile

UPLOAD = NewUpload(
    upload_id=UUID(int=1), tenant_id="acme", profile=Profile.INVOICE, filename="scan.pdf", api_key_id="00"
)


class FakeSteps:
    """Uploads, recorder and blob store in one: what was done, in order."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.recorded: list[AttachmentStored] = []

    async def record_upload_start(self, attachment_id: str, blob_key: str) -> None:
        self.steps.append(f"started {blob_key}")

    async def finish_upload(self, attachment_id: str) -> str:
        self.steps.append("finished")
        return attachment_id

    async def record_stored(self, stored: AttachmentStored) -> None:
        self.steps.append("recorded")
        self.recorded.append(stored)

    async def write_blob(
        self, key: str, chunks: AsyncIterator[bytes], *, content_type: str, metadata: Mapping[str, str] | None = None
    ) -> StoredBlob:
        content = b"".join([chunk async for chunk in chunks])
        self.steps.append("written")
        return StoredBlob(len(content), sha256(content).hexdigest())


async def send(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def build_uploader(steps: Any) -> DocumentUploader:
    def clock() -> datetime:
        return NOW

    return DocumentUploader(steps, steps, steps, clock)


async def test_an_upload_is_announced_written_and_recorded_in_this_order() -> None:
    steps = FakeSteps()
    rest = [b"x" * 2000, b"", b"end"]
    assert await build_uploader(steps).upload_document(UPLOAD, send(PDF[:4], PDF[4:], *rest)) == UPLOAD.attachment_id
    assert steps.steps == [f"started documents/{UPLOAD.attachment_id}.pdf", "written", "recorded", "finished"]
    (stored,) = steps.recorded
    content = PDF + b"".join(rest)
    assert (stored.size_bytes, stored.content_sha256) == (len(content), sha256(content).hexdigest())
    assert (stored.provider, stored.filename, stored.received_at) == ("manual_upload", "scan.pdf", NOW)
    assert (stored.doc_source_id, stored.content_type) == (
        derive_manual_source_id("acme", Profile.INVOICE),
        "application/pdf",
    )


@pytest.mark.parametrize("chunks", [[b"<html>"], [b"PK\x03\x04 %PDF-"]])
async def test_what_is_no_document_leaves_nothing(chunks: list[bytes]) -> None:
    steps = FakeSteps()
    with pytest.raises(UnknownContent):
        await build_uploader(steps).upload_document(UPLOAD, send(*chunks))
    assert steps.steps == []


async def test_a_file_beyond_the_limit_is_never_recorded() -> None:
    steps = FakeSteps()
    half = b"%PDF-" + bytes(MAX_UPLOAD_BYTES // 2)
    with pytest.raises(UploadTooLarge):
        await build_uploader(steps).upload_document(UPLOAD, send(half, half))
    assert steps.recorded == []


def test_each_tenant_and_profile_has_a_source_of_its_own() -> None:
    sources = {derive_manual_source_id(tenant, profile) for tenant in ("acme", "other") for profile in Profile}
    assert len(sources) == 2 * len(Profile)


@pytest.mark.parametrize("chunks", [(), (b"",)])
async def test_a_file_without_a_byte_is_said_to_be_empty(chunks: tuple[bytes, ...]) -> None:
    steps = FakeSteps()
    with pytest.raises(EmptyUpload):
        await build_uploader(steps).upload_document(UPLOAD, send(*chunks))
    assert steps.steps == []

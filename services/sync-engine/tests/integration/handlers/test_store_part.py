"""How one part is judged, streamed and stored."""

import hashlib

from fake_mailbox import PDF, FakeOutlook, File
from sync_harness import Engine

from sync_engine.domain.parts import MAX_PART_BYTES


async def test_a_large_part_passes_in_chunks_and_keeps_its_digest(engine: Engine, outlook: FakeOutlook) -> None:
    content = PDF + b"\x01" * (MAX_PART_BYTES - len(PDF))
    outlook.deliver("m1", File(content, "exactly-at-the-limit.pdf"))
    await engine.complete_run()
    (event,) = await engine.read_attachments()
    assert event.size_bytes == MAX_PART_BYTES
    assert event.content_sha256 == hashlib.sha256(content).hexdigest()


async def test_a_part_that_turns_out_too_large_leaves_neither_blob_nor_announcement(
    engine: Engine, outlook: FakeOutlook
) -> None:
    outlook.deliver("m1", File(PDF + b"\x01" * MAX_PART_BYTES, "huge.pdf", size_bytes=1000))
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"huge.pdf": "too_large"}
    assert engine.stored_blobs() == set()
    assert await engine.read_rows("blob_upload") == []


async def test_a_part_that_is_no_document_is_left_after_its_first_bytes(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(b"plain" * 1_000_000, "notes.txt", "text/plain"))
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"notes.txt": "not_a_document"}
    assert outlook.chunks_read == 1

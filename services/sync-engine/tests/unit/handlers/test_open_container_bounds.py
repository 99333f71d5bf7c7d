"""How much is taken out of the containers of one mail, by the real readers within the process of the test."""

from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from container_files import PDF, make_zip
from fake_containers import FakeContainers

from mailroom_common.blobs import BlobStore
from mailroom_common.blobs.store import StoredBlob
from mailroom_common.providers.types import Part, PartKind
from sync_engine.domain.content import ContainerKind
from sync_engine.domain.mail_allowance import FREE_BYTES, MailAllowance
from sync_engine.domain.message_records import SkippedPart, StoredPart, sum_stored_bytes
from sync_engine.handlers.open_container import OpenContainer
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.upload_part import UploadPart
from sync_engine.ports import Uploads

# Packed to a thousandth: far beyond the ratio, and less than what is free of it.
SHRINKING = PDF + bytes(900_000)


class CountingBlobs:
    async def write_blob(self, _key: str, chunks: AsyncIterator[bytes], *, content_type: str) -> StoredBlob:
        content = b"".join([chunk async for chunk in chunks])
        return StoredBlob(len(content), sha256(content).hexdigest())


class NoUploads:
    async def record_upload_start(self, *_upload: str) -> None: ...


class OneMail:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = OpenContainer(
            FakeContainers(folder), UploadPart(cast("BlobStore", CountingBlobs()), cast("Uploads", NoUploads()))
        )
        self._allowance = MailAllowance()

    async def open_zip(self, path: str, archive: bytes) -> list[StoredPart]:
        return [part for part in await self.judge_zip(path, archive) if isinstance(part, StoredPart)]

    async def judge_zip(
        self, path: str, archive: bytes, rejected_reason: str | None = None
    ) -> tuple[StoredPart | SkippedPart, ...]:
        file = self._folder / path
        file.write_bytes(archive)
        run = cast("SyncRun", SimpleNamespace(doc_source_id="d1", source=SimpleNamespace(tenant_id="acme")))
        part = Part(part_path=path, kind=PartKind.FILE, filename="a.zip", content_type=None, size_bytes=len(archive))
        return await self._open.open_container(
            run, "m1", part, ContainerKind.ZIP, file, rejected_reason=rejected_reason, allowance=self._allowance
        )


@pytest.fixture
def mail(tmp_path: Path) -> OneMail:
    return OneMail(tmp_path)


def list_paths(parts: list[StoredPart]) -> list[str]:
    return [part.part_path for part in parts]


async def test_archives_within_each_other_have_the_free_bytes_of_one(mail: OneMail) -> None:
    inner = make_zip({"a.pdf": SHRINKING})
    archive = make_zip({f"{number}.zip": inner for number in range(20)})
    *taken, kept = await mail.open_zip("1", archive)
    assert kept.part_path == "1", "for review"
    assert 0 < sum_stored_bytes(taken) <= 200 * len(archive) + FREE_BYTES < 20 * len(SHRINKING)


async def test_archives_beside_each_other_have_the_free_bytes_of_one_mail(mail: OneMail) -> None:
    archive = make_zip({"a.pdf": SHRINKING})
    assert list_paths(await mail.open_zip("1", archive)) == ["1/0"]
    assert list_paths(await mail.open_zip("2", archive)) == ["2"]
    honest = make_zip({"a.pdf": PDF + bytes(1000)})
    assert list_paths(await mail.open_zip("3", honest)) == ["3/0"]


async def test_entries_that_are_free_each_are_not_all_free(mail: OneMail) -> None:
    archive = make_zip({f"{number}.pdf": SHRINKING for number in range(20)})
    taken = [part for part in await mail.open_zip("1", archive) if part.via]
    assert 0 < sum_stored_bytes(taken) <= 200 * len(archive) + FREE_BYTES < 20 * len(SHRINKING)


@pytest.mark.parametrize(
    ("rejected_reason", "reasons"),
    [(None, ["damaged", "not_a_document"]), ("rejected_mail:bounce", ["rejected_mail:bounce", "not_a_document"])],
)
async def test_nobody_misses_a_damaged_file_of_a_mail_that_this_mailbox_sent(
    mail: OneMail, rejected_reason: str | None, reasons: list[str]
) -> None:
    archive = make_zip({"invoice.pdf": bytes(range(256)), "notes.txt": b"hello"})
    parts = await mail.judge_zip("1", archive, rejected_reason)
    assert [part.skip_reason for part in parts if isinstance(part, SkippedPart)] == reasons

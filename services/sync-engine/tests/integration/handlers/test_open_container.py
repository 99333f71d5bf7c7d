"""Containers that come with a mail: what is in them becomes its parts, and what cannot be opened goes to review."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from container_files import PDF, lock_zip, make_cms, make_file, make_forward, make_mail, make_tnef, make_zip
from fake_mailbox import FakeOutlook, File
from sync_harness import Engine

from mailroom_common.errors import Unavailable
from mailroom_common.parser import ParserCrashed, ParserLimitReached, ParserLimits
from mailroom_common.parser.pool import ParserPool
from mailroom_common.providers.types import PartKind
from sync_engine.adapters.parser_containers import READER_MODULES, ParserContainers
from sync_engine.domain.run_planning import RETRY_DELAYS

MAIL = File(make_mail(make_file(PDF, "../../facture.pdf")), "Facture", None, kind=PartKind.MESSAGE)
ZIP = File(make_zip({"a.pdf": PDF + b"1", "b.txt": b"text"}), "invoices.zip", "application/zip")


async def list_parts(engine: Engine) -> list[tuple[str, str | None, list[str] | None, str | None]]:
    """Behind the container's own path: what each part is called, what was opened for it, why it was not stored."""
    rows = await engine.pool.fetch(
        "select * from sync_engine.message_part where doc_source_id = $1 order by message_id, position, part_path",
        engine.source.doc_source_id,
    )
    return [
        (row["part_path"].partition("/")[2], row["filename"], row["via"], row["skip_reason"] or row["parked_reason"])
        for row in rows
    ]


async def stored_types(engine: Engine) -> list[tuple[str | None, str]]:
    return [(event.filename, event.content_type) for event in await engine.read_attachments()]


async def test_files_in_an_attached_mail_are_parts_of_the_mail(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", MAIL, File(PDF + b"2", "beside.pdf"))
    await engine.complete_run()
    assert await list_parts(engine) == [("1", "facture.pdf", ["message"], None), ("", "beside.pdf", None, None)]
    assert await stored_types(engine) == [("facture.pdf", "application/pdf"), ("beside.pdf", "application/pdf")]
    assert len(engine.stored_blobs()) == 2
    assert await engine.read_rows("blob_upload") == []


async def test_each_file_that_is_not_stored_has_its_reason(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", ZIP)
    await engine.complete_run()
    assert await list_parts(engine) == [("0", "a.pdf", ["zip"], None), ("1", "b.txt", ["zip"], "not_a_document")]


async def test_a_repeat_of_a_crashed_run_gives_the_same_parts(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", ZIP, MAIL)
    engine.containers.failure = Unavailable("no parser process")
    with pytest.raises(Unavailable):
        await engine.run_sync()
    assert await engine.read_attachments() == []
    before = engine.stored_blobs()
    engine.containers.failure = None
    engine.clock.pass_by(hours=1)
    await engine.complete_run()
    assert before < engine.stored_blobs()
    assert len(await engine.read_attachments()) == len(engine.stored_blobs()) == 2


@pytest.mark.parametrize(
    ("file", "content_type"),
    [
        (File(lock_zip(make_zip({"a.pdf": PDF})), "locked.zip"), "application/zip"),
        (File(make_cms(PDF, b"\x03"), "smime.p7m"), "application/pkcs7-mime"),
        (File(b"\x78\x9f\x3e\x22 and no more", "winmail.dat"), "application/vnd.ms-tnef"),
        (File(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and no more", "a.msg"), "application/vnd.ms-outlook"),
    ],
    ids=["locked", "encrypted", "cut short", "broken"],
)
async def test_what_cannot_be_opened_is_stored_for_review(
    engine: Engine, outlook: FakeOutlook, file: File, content_type: str
) -> None:
    outlook.deliver("m1", file)
    await engine.complete_run()
    (event,) = await engine.read_attachments()
    assert (event.content_type, event.size_bytes) == (content_type, len(file.content))
    assert (engine.blob_folder / event.blob_key).read_bytes() == file.content


@pytest.mark.parametrize("failure", [ParserCrashed("signal 11"), ParserLimitReached("memory")])
async def test_a_file_that_breaks_the_parser_costs_itself_and_what_was_found_before_is_kept(
    engine: Engine, outlook: FakeOutlook, failure: Exception
) -> None:
    engine.containers.failure = failure
    outlook.deliver("m1", MAIL, File(PDF + b"2", "beside.pdf"))
    await engine.complete_run()
    assert await stored_types(engine) == [
        ("facture.pdf", "application/pdf"),
        ("Facture", "message/rfc822"),
        ("beside.pdf", "application/pdf"),
    ]


async def test_a_parser_that_was_killed_parks_the_container_until_it_can_be_opened(
    engine: Engine, outlook: FakeOutlook
) -> None:
    engine.containers.failure = ParserCrashed("signal 9", killed=True)
    outlook.deliver("m1", File(PDF + b"2", "beside.pdf"), ZIP)
    await engine.complete_run()
    assert await list_parts(engine) == [("", "beside.pdf", None, None), ("", "invoices.zip", None, "parser_killed")]

    engine.containers.failure = None
    engine.clock.pass_by(seconds=RETRY_DELAYS[0] / timedelta(seconds=1) + 1)
    await engine.complete_run()
    assert await list_parts(engine) == [
        ("", "beside.pdf", None, None),
        ("0", "a.pdf", ["zip"], None),
        ("1", "b.txt", ["zip"], "not_a_document"),
    ]
    assert [name for name, _ in await stored_types(engine)] == ["beside.pdf", "a.pdf"]
    assert (await engine.read_row("message"))["state"] == "open"


async def test_a_parked_container_without_files_closes_its_message(engine: Engine, outlook: FakeOutlook) -> None:
    engine.containers.failure = ParserCrashed("signal 9", killed=True)
    outlook.deliver("m1", File(make_mail(), "empty.eml"))
    await engine.complete_run()
    engine.containers.failure = None
    engine.clock.pass_by(seconds=RETRY_DELAYS[0] / timedelta(seconds=1) + 1)
    await engine.complete_run()
    assert await list_parts(engine) == []
    message = await engine.read_row("message")
    assert (message["state"], message["skip_reason"], message["empty_parts"]) == (
        "closed",
        "no_parts",
        [{"part_path": "part-0", "filename": "empty.eml", "size_bytes": len(make_mail())}],
    )


async def test_a_mail_that_only_forwards_text_has_no_parts(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", File(make_mail(make_forward(make_mail())), "Fwd", None, kind=PartKind.MESSAGE))
    await engine.complete_run()
    row = await engine.read_row("message")
    assert (row["state"], row["skip_reason"]) == ("closed", "no_parts")


async def test_a_container_beyond_its_limit_is_too_large_and_leaves_nothing(
    engine: Engine, outlook: FakeOutlook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sync_engine.handlers.store_part.MAX_CONTAINER_BYTES", 100)
    outlook.deliver("m1", ZIP)
    await engine.complete_run()
    assert await engine.read_skip_reasons() == {"invoices.zip": "too_large"}
    assert engine.stored_blobs() == set()


async def test_the_mail_that_a_delivery_report_brings_back_is_not_filed(engine: Engine, outlook: FakeOutlook) -> None:
    outlook.deliver("m1", MAIL, sender_address="mailer-daemon@mx.example", subject="Returned mail")
    await engine.complete_run()
    assert await engine.read_attachments() == []
    assert await engine.read_skip_reasons() == {"facture.pdf": "rejected_mail:bounce"}


async def test_containers_are_opened_in_the_parser_process(
    engine: Engine, outlook: FakeOutlook, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    limits = ParserLimits(memory_bytes=512 * 1024 * 1024, cpu_s=20)
    async with ParserPool(preload=READER_MODULES, limits=limits) as pool:
        real: Any = ParserContainers(pool, scratch)
        engine.containers = real
        outlook.deliver("m1", MAIL, File(make_tnef({"rechnung.pdf": PDF * 4000}), "winmail.dat"))
        outlook.deliver("m2", File(lock_zip(make_zip({"a.pdf": PDF})), "locked.zip"))
        await engine.complete_run()
    assert {name for name, _ in await stored_types(engine)} == {"facture.pdf", "rechnung.pdf", "locked.zip"}
    assert list(scratch.iterdir()) == []

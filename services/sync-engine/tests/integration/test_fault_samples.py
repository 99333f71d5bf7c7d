"""Mails and answers on which runs once went wrong, with the right result; see tests/support/samples/faults."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fault_samples import FAULT_SAMPLES
from provider_site import Site, open_site

from mailroom_common.events import Profile, SyncReason

PDF_MAILS = (
    "group-mail/mail.eml",
    "inline-pdf-plain-subject/mail.eml",
    "sender-domain-like-a-daemon/mail.eml",
    "sender-domain-like-a-daemon/postmaster.eml",
    "wrongly-declared-attachment/called-doc.eml",
    "wrongly-declared-attachment/multipart.eml",
)


@pytest.fixture(params=["outlook", "gmail"])
async def site(
    request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Site]:
    async with open_site(request.param, Profile.INVOICE, postgres_url, tmp_path, monkeypatch) as opened:
        yield opened


async def deliver(site: Site, sample: str) -> str:
    source = (FAULT_SAMPLES / sample).read_bytes()
    (message_id,) = await site.sandbox.control.deliver_mail(source, site.address)
    return message_id


async def test_the_pdf_of_each_good_mail_is_stored(site: Site) -> None:
    expected = [await deliver(site, sample) for sample in PDF_MAILS]
    await site.engine.complete_run(SyncReason.CONNECT)
    assert await site.engine.collected_mails() == sorted(expected)


@pytest.mark.parametrize("failure", [{"status": 504}, {"break_after_bytes": 100}], ids=["504", "broken off"])
async def test_four_of_five_parts_are_stored_at_once_and_the_fifth_when_it_can_be_read(
    site: Site, failure: dict[str, Any]
) -> None:
    await site.engine.complete_run(SyncReason.CONNECT)
    await site.sandbox.control.set_fault("item_fails", where="part", parts="bad.pdf", **failure)
    await deliver(site, "one-bad-attachment/mail.eml")
    await site.engine.complete_run(SyncReason.NOTIFICATION)
    stored = sorted(event.filename or "" for event in await site.engine.read_attachments())
    assert stored == ["g1.pdf", "g2.pdf", "g4.pdf", "g5.pdf"]
    parked = [row for row in await site.engine.read_rows("message_part") if row["parked_reason"]]
    assert [row["filename"] for row in parked] == ["bad.pdf"]
    await site.sandbox.control.clear_faults()
    await site.engine.pool.execute("update sync_engine.message_part set next_attempt_at = now() where not stored")
    await site.engine.complete_run(SyncReason.BACKSTOP)
    assert [event.filename for event in await site.engine.read_attachments()].count("bad.pdf") == 1

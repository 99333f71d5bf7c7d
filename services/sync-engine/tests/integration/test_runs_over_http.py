"""The run with the real clients, over HTTP, at the sandbox's providers: what is collected, and in how many calls."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from fake_mailbox import PDF
from provider_site import Site, open_site

from mailroom_common.events import MailKind, Profile, SyncReason

_BODIES = frozenset({"body", "bodypreview", "uniquebody"})


@pytest.fixture(params=["outlook", "gmail"])
async def site(
    request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Site]:
    async with open_site(request.param, Profile.INVOICE, postgres_url, tmp_path, monkeypatch) as site:
        yield site


@pytest.fixture(params=["outlook", "gmail"])
async def observed_site(
    request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Site]:
    async with open_site(request.param, Profile.OBSERVATION, postgres_url, tmp_path, monkeypatch) as site:
        yield site


async def test_mail_from_before_and_after_the_first_sync_is_collected_once(site: Site) -> None:
    expected = [await site.deliver(), await site.deliver()]
    await site.engine.complete_run(SyncReason.CONNECT)
    expected.append(await site.deliver())
    await site.engine.complete_run(SyncReason.NOTIFICATION)
    await site.engine.states.mark_full_due([site.engine.source.doc_source_id])
    await site.engine.complete_run(SyncReason.MANUAL)
    assert await site.engine.collected_mails() == sorted(expected)
    assert {event.content_sha256 for event in await site.engine.read_attachments()} == {
        row["content_sha256"] for row in await site.engine.read_rows("message_part")
    }


async def test_a_woken_mailbox_with_nothing_new_costs_one_call(site: Site) -> None:
    await site.deliver()
    await site.engine.complete_run(SyncReason.CONNECT)
    assert len(await site.calls_of(SyncReason.NOTIFICATION)) == 1


async def test_a_new_mail_costs_its_files_and_its_share_of_a_list(site: Site) -> None:
    """Graph: the list brings the parts along. Gmail: the history, and the message, which brings small files along."""
    await site.engine.complete_run(SyncReason.CONNECT)
    for files in (0, 1, 3):
        await site.deliver(files=files)
        calls = await site.calls_of(SyncReason.NOTIFICATION)
        assert len(calls) == (1 + files if site.engine.source.provider == "outlook" else 2)
    assert len(await site.engine.read_attachments()) == 4


async def test_an_inline_document_is_found_though_graph_says_no_attachments(site: Site) -> None:
    message_id = await site.deliver("Facture 12", is_inline=True)
    await site.engine.complete_run(SyncReason.CONNECT)
    assert await site.engine.collected_mails() == [message_id]


_GROUP_HEADERS = {"List-ID": "<accounting.firma.example>", "List-Post": "<mailto:x@y>", "Precedence": "list"}
_ODD_MAILS = [
    ("wie besprochen", "buero@musterbau.example", "attachment", "application/pdf", "4711.pdf", _GROUP_HEADERS),
    ("wie besprochen", "buero@musterbau.example", "inline", "application/pdf", "a.pdf", {}),
    ("Rechnung 4711", "rechnung@mail-delivery.nord.example", "attachment", "application/pdf", "4711.pdf", {}),
    ("Mail delivery service: invoice 4711", "postmaster@nord.example", "attachment", "application/pdf", "1.pdf", {}),
    ("wie besprochen", "buero@musterbau.example", "attachment", "application/msword", "Rechnung.doc", {}),
]


async def test_no_document_is_lost_to_a_guess_on_weak_signs(site: Site) -> None:
    """A group's address, an inline PDF under a plain subject, senders named like a daemon, a PDF called Word."""
    expected = []
    for subject, sender, disposition, content_type, filename, headers in _ODD_MAILS:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = sender, site.address, subject
        mail["Message-ID"] = f"<{uuid4()}@supplier.example>"
        for name, value in headers.items():
            mail[name] = value
        mail.set_content("Guten Tag, anbei.")
        maintype, _, subtype = content_type.partition("/")
        mail.add_attachment(PDF, maintype, subtype, filename=filename, disposition=disposition)
        expected += await site.sandbox.control.deliver_mail(mail.as_bytes(), site.address)
    await site.engine.complete_run(SyncReason.CONNECT)
    assert await site.engine.collected_mails() == sorted(expected)


async def test_junk_is_not_collected_until_it_is_moved_to_the_inbox(site: Site) -> None:
    await site.engine.complete_run(SyncReason.CONNECT)
    is_outlook = site.engine.source.provider == "outlook"
    message_id = await site.deliver(folder="junkemail" if is_outlook else "SPAM")
    await site.engine.complete_run()
    assert await site.engine.collected_mails() == []
    await site.sandbox.control.move_message(site.address, message_id, "inbox" if is_outlook else "INBOX")
    await site.engine.complete_run()
    assert await site.engine.collected_mails() == [message_id]


async def test_a_provider_that_now_and_then_throttles_only_slows_the_mailbox(site: Site) -> None:
    """As steps.md of the sample `throttled-now-and-then` has it, with more refusals and a shorter wait."""
    await site.engine.complete_run(SyncReason.CONNECT)
    await site.sandbox.control.set_fault("unavailable", mailbox=site.address, status=429, retry_after="0.05", share=0.2)
    expected = [await site.deliver() for _ in range(20)]
    await site.sandbox.control.forget_calls()
    await site.engine.complete_run(SyncReason.NOTIFICATION)
    assert await site.engine.collected_mails() == sorted(expected)
    assert len(await site.engine.read_attachments()) == 20
    assert await site.engine.read_rows("parked_item") == []
    statuses = [call["status"] for call in await site.sandbox.control.list_calls(site.address)]
    assert statuses.count(429) >= 3


async def test_refused_cursors_lead_back_to_the_first_sync_and_take_nothing_twice(site: Site) -> None:
    expected = [await site.deliver()]
    await site.engine.complete_run(SyncReason.CONNECT)
    await site.sandbox.control.refuse_cursors(site.address)
    expected.append(await site.deliver())
    await site.engine.states.mark_full_due([site.engine.source.doc_source_id])
    await site.engine.complete_run(SyncReason.LIFECYCLE)
    assert await site.engine.collected_mails() == sorted(expected)


def _asks_for_contents(url: httpx.URL) -> bool:
    """Whether a request asks for a body or an attachment, as one for a message does that says not what it wants."""
    if any(word in url.path for word in ("/attachments", "/$value")) or "$expand" in url.params:
        return True
    if "/gmail/" in url.path:
        return "/messages/" in url.path and url.params.get("format") not in {"metadata", "minimal"}
    # A link of a round has the members that its first call selected.
    is_link = "$deltatoken" in url.params or "$skiptoken" in url.params
    members = {member.lower() for member in url.params.get("$select", "").split(",")}
    return "/messages" in url.path and not is_link and (members == {""} or not members.isdisjoint(_BODIES))


async def test_no_body_and_no_attachment_of_an_observed_mailbox_is_asked_for(observed_site: Site) -> None:
    """From its first sync to its removal. The grant would not open them; that they are not asked for is ours."""
    site, is_outlook = observed_site, observed_site.engine.source.provider == "outlook"
    await site.deliver()
    await site.engine.complete_run(SyncReason.CONNECT)
    message_id = await site.deliver(files=2)
    await site.engine.complete_run()
    await site.sandbox.control.set_flag(site.address, message_id, "flagged")
    await site.engine.complete_run()
    await site.sandbox.control.move_message(site.address, message_id, "archive")
    await site.engine.complete_run()
    await site.sandbox.control.delete_message(site.address, message_id)
    await site.engine.states.mark_full_due([site.engine.source.doc_source_id])
    await site.engine.complete_run(SyncReason.MANUAL)
    assert [str(url) for url in site.requests if _asks_for_contents(url)] == []
    assert len(site.requests) > 5
    events = [event for event in await site.engine.read_mail_events() if event.message_id == message_id]
    assert [event.kind for event in events] == [MailKind.RECEIVED, MailKind.CHANGED, MailKind.MOVED, MailKind.REMOVED]
    assert [event.flag for event in events] == ["not_flagged", "flagged", "flagged", None]
    assert [event.previous_folder for event in events] == [
        None,
        None,
        *(["Inbox", "Archive"] if is_outlook else ["INBOX", "ARCHIVE"]),
    ]


async def test_what_becomes_of_mail_from_before_the_start_is_reported(observed_site: Site) -> None:
    site = observed_site
    source = b"From: a@b.example\r\nSubject: Old\r\nMessage-ID: <old@b.example>\r\n\r\nText"
    received_at = datetime.now(UTC) - timedelta(days=10)
    (message_id,) = await site.sandbox.control.deliver_mail(source, site.address, received_at=received_at)
    await site.engine.complete_run(SyncReason.CONNECT)
    assert await site.engine.read_mail_events() == []
    await site.sandbox.control.set_flag(site.address, message_id, "flagged")
    await site.engine.complete_run()
    await site.sandbox.control.move_message(site.address, message_id, "archive")
    await site.engine.complete_run()
    changed, moved = await site.engine.read_mail_events()
    assert (changed.kind, changed.flag, changed.subject) == (MailKind.CHANGED, "flagged", "Old")
    assert (moved.kind, (moved.previous_folder or "").upper()) == (MailKind.MOVED, "INBOX")

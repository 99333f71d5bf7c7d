"""What each kind of mail costs at the provider, by the sandbox's ledger: the table in docs/performance.md is right."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fake_mailbox import PDF
from provider_site import Site, open_site

from mailroom_common.events import Profile, SyncReason
from sync_engine.domain.run_planning import SyncTimings

PERFORMANCE = Path(__file__).parents[4] / "docs" / "performance.md"
LARGE_PDF = PDF + b"\n%" + b"x" * 2048  # a smaller one comes along with Gmail's message
_MAILS_OF_A_KIND = 10
PICTURE = b"\x89PNG\r\n\x1a\n" + b"x" * 2048


@pytest.fixture(params=["outlook", "gmail"])
async def site(
    request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Site]:
    async with open_site(request.param, Profile.INVOICE, postgres_url, tmp_path, monkeypatch) as opened:
        yield opened


def start_mail(subject: str = "Invoice 17") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "billing@supplier.example", "ap@acme.example", subject
    mail["Message-ID"] = f"<{uuid4()}@supplier.example>"
    mail.set_content("The document is attached.")
    return mail


def with_pdfs(number: int, *, disposition: str = "attachment") -> EmailMessage:
    mail = start_mail()
    for index in range(number):
        mail.add_attachment(LARGE_PDF, "application", "pdf", filename=f"i{index}.pdf", disposition=disposition)
    return mail


def with_logo(mail: EmailMessage) -> EmailMessage:
    mail.add_attachment(PICTURE, "image", "png", filename="logo.png", disposition="inline", cid="<logo@x>")
    return mail


def newsletter() -> EmailMessage:
    mail = start_mail("Our summer offers")
    mail["List-Unsubscribe"] = "<mailto:leave@supplier.example>"
    return mail


MAILS: dict[str, Callable[[], EmailMessage]] = {
    "no attachment": start_mail,
    "newsletter": newsletter,
    "one PDF": lambda: with_pdfs(1),
    "one inline PDF": lambda: with_pdfs(1, disposition="inline"),
    "one PDF and an inline logo": lambda: with_logo(with_pdfs(1)),
    "three PDFs": lambda: with_pdfs(3),
}


async def test_each_kind_of_mail_costs_what_the_table_says(site: Site) -> None:
    await site.engine.complete_run(SyncReason.CONNECT)
    idle = await count_run(site, SyncReason.NOTIFICATION)
    counted = {}
    for kind, make in MAILS.items():
        await site.sandbox.control.deliver_mail(make().as_bytes(), site.address)
        calls, units = await count_run(site, SyncReason.NOTIFICATION)
        counted[kind] = (calls - idle[0], units - idle[1])
    assert {"a run that finds nothing": idle, **counted} == read_table("Calls and units per mail", site)


async def test_a_first_sync_of_each_kind_of_mail_costs_what_the_table_says(site: Site) -> None:
    # No list of new mail in between, and no further slice: both come with the time that a run takes.
    site.engine.timings = SyncTimings(slice_duration=timedelta(hours=1), new_mail_interval=timedelta(hours=1))
    domain = site.address.partition("@")[2]
    counted = {}
    for number, (kind, make) in enumerate({"an empty mailbox": None, **MAILS}.items()):
        await site.read_mailbox(f"first-{number}@{domain}")
        if make is not None:
            await site.sandbox.control.deliver_mail(make().as_bytes(), site.address, times=_MAILS_OF_A_KIND)
        counted[kind] = await count_first_sync(site)
    empty = counted["an empty mailbox"]
    beyond = {kind: (calls - empty[0], units - empty[1]) for kind, (calls, units) in counted.items() if kind in MAILS}
    assert {"an empty mailbox": empty, **beyond} == read_table("Calls and units of a first sync", site)


async def count_run(site: Site, reason: SyncReason) -> tuple[int, int]:
    await site.sandbox.control.forget_calls()
    await site.engine.complete_run(reason)
    (summed,) = await site.sandbox.control.sum_units(site.address)
    return summed["calls"], summed["units"]


async def count_first_sync(site: Site) -> tuple[int, int]:
    """Without the looks for new mail between two batches of old mail, which come with the time that these take."""
    await site.sandbox.control.forget_calls()
    await site.engine.complete_run(SyncReason.CONNECT)
    calls = [call for call in await site.sandbox.control.list_calls(site.address) if not is_look_for_new_mail(call)]
    return len(calls), sum(call["units"] for call in calls)


def is_look_for_new_mail(call: Mapping[str, Any]) -> bool:
    return str(call["path"]).endswith("/history")


def read_table(heading: str, site: Site) -> dict[str, tuple[int, int]]:
    """Calls and units by kind: at Graph a call is a unit."""
    section = PERFORMANCE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| (\d+), (\d+) \|", section, re.MULTILINE)
    assert rows
    if site.engine.source.provider == "outlook":
        return {kind: (int(calls), int(calls)) for kind, calls, _, _ in rows}
    return {kind: (int(calls), int(units)) for kind, _, calls, units in rows}

"""How near to the provider's ceiling a backlog runs: a mailbox of each provider, under the providers' exact quotas.

    python bench/backlog [--mails 1000] [--provider gmail]

A whole site. The mailbox is connected and paused, `--mails` mails with one file each are delivered, then it is resumed;
the time runs until each mail has a stored part. The ceiling is the provider's rate (Gmail: 6,000 units a minute of a
user; Graph: 10,000 calls in ten minutes of a mailbox) divided by the least that its API allows for such a mail:
at Gmail the message and its file, 40 units; at Graph the file, one call. Beside it stand the units that were really
spent, and the most in any window. Exit code 1 when a mail was not stored within three times the ceiling's time.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

import asyncpg

from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import read_json
from mailroom_sandbox.testkit.site_harness import SiteHarness, site_harness

FILE = b"%PDF-1.4\n" + b"%" * 4096  # no reader's work: the backlog is measured, not the reading
_STORED = "select count(*) from sync_engine.message_part where doc_source_id = $1 and stored and parked_reason is null"


@dataclass(frozen=True)
class Ceiling:
    """`units_per_mail` is the least that the API allows for a mail with one file."""

    units_per_mail: int
    limit: int
    window_s: float

    def least_s(self, mails: int) -> float:
        return mails * self.units_per_mail * self.window_s / self.limit


CEILINGS = {"gmail": Ceiling(40, 6_000, 60.0), "outlook": Ceiling(1, 10_000, 600.0)}


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mails", type=int, default=1_000)
    parser.add_argument("--provider", choices=sorted(CEILINGS), help="both otherwise, one after the other")
    options = parser.parse_args()
    providers = [options.provider] if options.provider else sorted(CEILINGS)
    with tempfile.TemporaryDirectory(prefix="mailroom-backlog-") as folder:
        Path(folder).chmod(0o755)  # noqa: ASYNC240  # Postgres may have to run as nobody, who must be able to come here
        async with site_harness(Path(folder) / "home", "up", environment={}) as site:
            try:
                for provider in providers:
                    await measure_backlog(site, provider, options.mails)
            except TimeoutError:
                print("not every mail was stored in time", file=sys.stderr)
                return 1
    return 0


async def measure_backlog(site: SiteHarness, provider: str, mails: int) -> None:
    trusted = ca.load_or_create_certificates(site.home.tls).client_context()
    endpoints = site.endpoints
    if endpoints.api_key is None:
        raise RuntimeError("the site has no key of its own")
    control_url = f"http://127.0.0.1:{read_json(site.home.ports, {})['sandbox_control']}"
    ceiling, address = CEILINGS[provider], f"backlog@{provider}.test"
    database = await asyncpg.connect(endpoints.database)
    async with (
        MailroomAPI(endpoints.public, endpoints.api_key, trusted) as api,
        ControlClient(control_url) as control,
    ):
        await control.find_or_create_mailbox(provider, address)
        source = await ensure_mailbox_connected(api, provider, address, trusted)
        await api.post_json(f"/doc-sources/{source}/pause")
        for number in range(mails):
            await control.deliver_mail(build_mail(number), address)
        await control.set_fault("exact_quotas", mailbox=address)
        await control.forget_calls()
        await api.post_json(f"/doc-sources/{source}/resume")
        began_s = time.monotonic()
        async with asyncio.timeout(ceiling.least_s(mails) * 3 + 60):
            while await database.fetchval(_STORED, source) < mails:  # noqa: ASYNC110  # a table tells of no change
                await asyncio.sleep(0.5)
        took_s = time.monotonic() - began_s
        (spent,) = await control.sum_units(address, window_s=ceiling.window_s)
    await database.close()
    print(
        f"{provider}: {mails} mails in {took_s:.0f} s, {ceiling.least_s(mails) / took_s:.2f} of the ceiling; "
        f"{spent['units'] / mails:.2f} units a mail (least {ceiling.units_per_mail}), {spent['failed']} calls failed, "
        f"at most {spent['most_units_in_window']} of {ceiling.limit} units in {ceiling.window_s:.0f} s; "
        f"load average {os.getloadavg()[0]:.1f}"
    )


def build_mail(number: int) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "billing@acme.example", "ap@contoso.example", f"Invoice {number}"
    mail["Message-ID"] = f"<{uuid.uuid4()}@acme.example>"
    mail.set_content("Please find the invoice attached.")
    content = FILE + str(number).encode()
    mail.add_attachment(content, maintype="application", subtype="pdf", filename=f"invoice-{number}.pdf")
    return mail.as_bytes()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

"""`mailroom-sandbox demo`: the demo on a site that runs already, with its provider doubles, wherever that is."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mailroom_common.errors import Unavailable
from mailroom_sandbox.provider_doubles.cli import CONTROL_VARIABLE
from mailroom_sandbox.provider_doubles.client import ControlClient, ControlError
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.demo import Demo
from mailroom_sandbox.site.demo.mails import SAMPLES, find_mails
from mailroom_sandbox.site.endpoints import Endpoints
from mailroom_sandbox.site.lifecycle import SitePlan
from mailroom_sandbox.site.stack.ca import Certificates
from mailroom_sandbox.site.stack.home import Home

_START_S = 300.0
_PAUSE_S = 0.5

EXAMPLES = """Example:

  mailroom-sandbox demo --url https://mailroom.localhost:8443 --control http://127.0.0.1:9445 \\
  --api-key-file key --ca-bundle ca.pem --state ~/.cache/mailroom-demo
"""


def run_demo(
    url: Annotated[str, typer.Option(help="Where the site's reverse proxy answers.")],
    control: Annotated[str, typer.Option(envvar=CONTROL_VARIABLE, help="Control API of its provider doubles.")],
    api_key_file: Annotated[Path, typer.Option(exists=True, help="File with an administrator's API key.")],
    ca_bundle: Annotated[Path, typer.Option(exists=True, help="Authority of the site's certificates, PEM.")],
    state: Annotated[Path, typer.Option(help="Folder that remembers which mails were delivered.")],
) -> None:
    """Connect two mailboxes, deliver the sample mails, show what they became, and end: 0 when all is there, else 1.

    Safe to repeat: a mailbox that is connected and a mail that was delivered stay as they are.
    """
    plan = SitePlan(Home(state), {}, {}, Certificates(bundle=ca_bundle, server=ca_bundle))
    endpoints = Endpoints(
        kafka="",
        database="",
        public=url,
        gateway=url,
        subscription_manager=url,
        sync_engine=url,
        ingestion=url,
        api_key=api_key_file.read_text().strip(),
        pids={},
    )
    console = Console() if sys.stdout.isatty() else Console(width=140)
    demo = Demo(plan, control, console, find_mails(SAMPLES), of_the_repository=True, once=True)
    sys.exit(asyncio.run(_run_demo_once_site_answers(demo, endpoints)))


async def _run_demo_once_site_answers(demo: Demo, endpoints: Endpoints) -> int:
    assert endpoints.api_key is not None  # noqa: S101  # it is an option that must be given
    trusted = demo.plan.certificates.client_context()
    async with (
        MailroomAPI(endpoints.public, endpoints.api_key, trusted) as api,
        ControlClient(demo.control_url) as control,
    ):
        await wait_for_site(api, control)
    return await demo(endpoints)


async def wait_for_site(api: MailroomAPI, control: ControlClient, within_s: float = _START_S) -> None:
    """Some engines start this container before those are healthy that it depends on.

    Raises:
        Unavailable, ControlError: one of the two still does not answer.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while True:
        try:
            await control.list_mailboxes()
            await api.list_items("/doc-sources")
        except (Unavailable, ControlError):
            if loop.time() > deadline:
                raise
        else:
            return
        await asyncio.sleep(_PAUSE_S)

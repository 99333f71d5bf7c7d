"""`mailroom-sandbox demo`: the demo on a site that runs already, with its provider doubles, wherever that is."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mailroom_sandbox.provider_doubles.cli import CONTROL_VARIABLE
from mailroom_sandbox.site.demo.demo import Demo
from mailroom_sandbox.site.demo.mails import SAMPLES, find_mails
from mailroom_sandbox.site.endpoints import Endpoints
from mailroom_sandbox.site.lifecycle import SitePlan
from mailroom_sandbox.site.stack.ca import Certificates
from mailroom_sandbox.site.stack.home import Home

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
    sys.exit(asyncio.run(demo(endpoints)))

"""`mailroom-sandbox connect`: a mailbox of the provider doubles, connected to the site that runs here."""

import asyncio

from mailroom_common.errors import Fatal
from mailroom_sandbox.provider_doubles.cli import CONTROL_FILE
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI, retry_while_unavailable
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import Home, read_json


def connect_sandbox_mailbox(home: Home, provider: str, address: str, profile: str) -> str:
    """The id of its doc source.

    Raises:
        Fatal: no sandbox with providers runs on this state.
    """
    control_file = home.endpoints.with_name(CONTROL_FILE)
    endpoints = read_json(home.endpoints, {})
    if not control_file.is_file() or not endpoints:
        raise Fatal(f"no sandbox with providers runs on {home.path}: `make run` starts one")
    return asyncio.run(_connect_mailbox(home, endpoints, control_file.read_text().strip(), provider, address, profile))


async def _connect_mailbox(
    home: Home, endpoints: dict[str, str], control_url: str, provider: str, address: str, profile: str
) -> str:
    trusted = ca.load_or_create_certificates(home.tls).client_context()
    async with ControlClient(control_url) as control:
        await control.find_or_create_mailbox(provider, address)
    async with MailroomAPI(endpoints["public"], endpoints["api_key"], trusted) as api:
        return await retry_while_unavailable(
            lambda: ensure_mailbox_connected(api, provider, address, trusted, profile=profile)
        )

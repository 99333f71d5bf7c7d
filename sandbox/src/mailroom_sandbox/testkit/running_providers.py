"""Runs the providers inside a test: free ports, an authority of their own, state in a folder of the test's."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import trustme

from mailroom_sandbox.provider_doubles.app import run_provider_doubles
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.provider_doubles.endpoints import ProviderEndpoints, mailroom_environment
from mailroom_sandbox.provider_doubles.keys import load_key
from mailroom_sandbox.provider_doubles.provider_state import SIGNING_KEYS, Clock, ProviderState, utc_now
from mailroom_sandbox.provider_doubles.settings import ProvidersSettings

REDIRECT_URIS = (
    "https://mailroom.example/oauth/outlook/callback",
    "https://mailroom.example/oauth/gmail/callback",
)


@dataclass(frozen=True, slots=True)
class RunningProviders:
    """`http` trusts the providers; `state` looks behind them."""

    settings: ProvidersSettings
    at: ProviderEndpoints
    ca_bundle: Path
    control: ControlClient
    http: httpx.AsyncClient
    state: ProviderState

    async def wait_until_settled(self, timeout_s: float = 10.0) -> list[dict[str, Any]]:
        """Waits until no push is waiting, and returns what became of all of them."""
        async with asyncio.timeout(timeout_s):
            await self.state.dispatcher.wait_until_idle()
        notifications = await self.control.list_notifications()
        return list(notifications["items"])

    def mailroom_environment(self) -> dict[str, str]:
        """`MAILROOM_*` variables that point services here."""
        return mailroom_environment(self.settings)


@asynccontextmanager
async def running_providers(
    folder: Path, *, now: Clock = utc_now, **changed: object
) -> AsyncIterator[RunningProviders]:
    """Both providers and the control API until the block ends.

    Everything about them lies in `folder`: a second run there goes on from the first one's state and ports.
    `changed` are fields of ProvidersSettings.
    """
    settings = load_settings(folder, **changed)
    stopping = asyncio.Event()
    started: asyncio.Future[ProviderState] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(run_provider_doubles(settings, stopping, ready=started.set_result, now=now))
    serving.add_done_callback(lambda _: started.done() or started.cancel())
    try:
        state = await started
    except asyncio.CancelledError:
        await serving  # says why it could not start
        raise
    trust = ssl.create_default_context(cafile=folder / "ca.pem")
    at = ProviderEndpoints.from_settings(settings)
    try:
        async with ControlClient(at.control_url) as control, httpx.AsyncClient(verify=trust, trust_env=False) as http:
            yield RunningProviders(settings, at, folder / "ca.pem", control, http, state)
    finally:
        stopping.set()
        await serving


def load_settings(folder: Path, **changed: object) -> ProvidersSettings:
    """Settings for a folder, with ports and certificates that are made once and stay."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "ca.pem").exists():
        issue_certificate(folder)
    _provide_signing_keys(folder / "state")
    ports_file = folder / "ports"
    if not ports_file.exists():
        ports_file.write_text(" ".join(str(port) for port in find_free_ports(3)))
    microsoft, google, control = (int(port) for port in ports_file.read_text().split())
    fields: dict[str, object] = {
        "state": folder / "state",
        "microsoft_port": microsoft,
        "google_port": google,
        "control_port": control,
        "tls_certificate": folder / "server.pem",
        "tls_key": folder / "server.key",
        "ca_bundle": folder / "ca.pem",
        "redirect_uris": ",".join(REDIRECT_URIS),
        "allow_http_webhooks": True,
        "notification_retry_base_s": 0.05,
        "latency_ms": 0,
        **changed,
    }
    return ProvidersSettings.model_validate(fields)


def _provide_signing_keys(state: Path) -> None:
    """Those of this process, for a state that has none yet: each would take a tenth of a second of the processor."""
    state.mkdir(parents=True, exist_ok=True)
    for name in SIGNING_KEYS:
        file = state / f"{name}.pem"
        if not file.exists():
            file.touch(mode=0o600)
            file.write_bytes(_make_signing_key(name))


@cache
def _make_signing_key(name: str) -> bytes:
    with TemporaryDirectory() as folder:
        return load_key(Path(folder), name).private_pem().encode()


def issue_certificate(folder: Path) -> None:
    """A new authority (`ca.pem`) and a server certificate of it for this machine."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1", "localhost", "::1")
    (folder / "server.key").write_bytes(certificate.private_key_pem.bytes())
    chain = b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
    (folder / "server.pem").write_bytes(chain)
    authority.cert_pem.write_to_path(folder / "ca.pem")


def find_free_ports(count: int) -> list[int]:
    """Taken all at once, so that no two are the same."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()

"""`make up` against providers that are not the sandbox's own: other ports, another certificate authority.

One site serves the whole module; the tests go through its life in order, and the last one ends it.
"""

import asyncio
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest
import pytest_asyncio
from whole_site import eventually, mail, pdf

from mailroom_sandbox.site.demo.api import MailroomAPI, retry_while_unavailable
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.services import SERVICES
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import Home
from mailroom_sandbox.site.stack.ports import free_port
from mailroom_sandbox.testkit.running_providers import RunningProviders, issue_certificate, running_providers
from mailroom_sandbox.testkit.site_harness import SiteHarness, site_harness

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

ADDRESSES = {"outlook": "ap@contoso.example", "gmail": "ap@letters.example"}


@dataclass(frozen=True, slots=True)
class Site:
    running: SiteHarness
    providers: RunningProviders
    api: MailroomAPI
    trusted: ssl.SSLContext


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("up")
    home, port = Home(folder / "home"), free_port()
    proxy = ca.load_or_create_certificates(home.tls)
    public = f"https://127.0.0.1:{port}"
    async with running_providers(
        folder / "providers",
        ca_bundle=_write_joint_bundle(folder, proxy.bundle),
        redirect_uris=",".join(f"{public}/oauth/{provider}/callback" for provider in ADDRESSES),
        pubsub_push_url=f"{public}/webhooks/gmail",
        pubsub_token="a-token-of-this-test",
    ) as providers:
        environment = {
            **providers.mailroom_environment(),
            "MAILROOM_CA_BUNDLE": str(folder / "providers" / "ca.pem"),
            "MAILROOM_FRONT_PORT": str(port),
        }
        async with site_harness(home.path, "up", "--without-providers", environment=environment) as running:
            key = running.endpoints.api_key
            assert key is not None
            trusted = ssl.create_default_context(cafile=folder / "both.pem")
            async with MailroomAPI(public, key, trusted) as api:
                yield Site(running, providers, api, trusted)


def _write_joint_bundle(folder: Path, proxy_bundle: Path) -> Path:
    """Whoever calls the reverse proxy and the doubles trusts two authorities; the site trusts the providers' alone."""
    (folder / "providers").mkdir()
    issue_certificate(folder / "providers")
    both = folder / "both.pem"
    both.write_bytes(proxy_bundle.read_bytes() + (folder / "providers" / "ca.pem").read_bytes())
    return both


async def test_endpoints_name_everything_and_answer(site: Site) -> None:
    endpoints = site.running.endpoints
    assert set(endpoints.pids) == {"kafka", "postgres", *(service.name for service in SERVICES)}
    assert all(psutil.pid_exists(pid) for pid in endpoints.pids.values())
    async with httpx.AsyncClient(trust_env=False) as http:
        for url in (endpoints.gateway, endpoints.subscription_manager, endpoints.sync_engine, endpoints.ingestion):
            assert (await http.get(f"{url}/readyz")).status_code == 200


async def test_nothing_of_the_sandboxs_providers_runs(site: Site) -> None:
    commands = [" ".join(process.cmdline()) for process in site.running.list_processes()]
    assert not [command for command in commands if "mailroom_sandbox.provider_doubles" in command]


@pytest.mark.parametrize("provider", ["outlook", "gmail"])
async def test_mail_becomes_a_document(site: Site, provider: str) -> None:
    await site.providers.control.find_or_create_mailbox(provider, ADDRESSES[provider])
    doc_source_id = await ensure_mailbox_connected(site.api, provider, ADDRESSES[provider], site.trusted)
    await site.providers.control.deliver_mail(mail(pdf("first")), ADDRESSES[provider])
    await eventually(lambda: _has_documents(site, doc_source_id, 1))


async def test_second_run_on_the_same_state_is_refused_and_touches_nothing(site: Site) -> None:
    before = site.running.endpoints
    second = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "mailroom_sandbox", "up", "--without-providers"),
        env={**os.environ, "MAILROOM_HOME": str(site.running.home.path), "MAILROOM_ENV_FILE": os.devnull},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await second.communicate()
    assert second.returncode == 1
    assert f"process {site.running.process.pid} " in said.decode()
    assert site.running.endpoints == before


async def test_interrupt_with_frozen_kafka_leaves_nothing(site: Site) -> None:
    members = site.running.list_processes()
    os.kill(site.running.endpoints.pids["kafka"], signal.SIGSTOP)
    assert await site.running.interrupt_site() == 0
    assert [process for process in members if process.is_running() and process.status() != psutil.STATUS_ZOMBIE] == []
    assert not site.running.home.endpoints.exists()


async def _has_documents(site: Site, doc_source_id: str, count: int) -> bool:
    documents = await retry_while_unavailable(lambda: site.api.list_items("/documents", doc_source_id=doc_source_id))
    return len([document for document in documents if document["status"] not in ("pending", "processing")]) == count

"""Both providers on free ports, people who consented there, and a webhook that remembers what it was sent.

They are started once and emptied before each test; all tests of this folder share one event loop for that.
"""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from mailroom_sandbox.provider_doubles.provider_state import build_provider_state
from mailroom_sandbox.testkit.mailbox_users import GMAIL, OUTLOOK, MailboxUser, sign_in_gmail_user, sign_in_outlook_user
from mailroom_sandbox.testkit.running_providers import RunningProviders, load_settings, running_providers
from mailroom_sandbox.testkit.webhook_receiver import WebhookReceiver, run_webhook_receiver

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def ready_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys and certificates, which take a second to make and may be the same in every test."""
    folder = tmp_path_factory.mktemp("providers")
    state = build_provider_state(load_settings(folder))
    state.store.close()
    (folder / "ports").unlink()
    for file in (folder / "state").glob("providers.sqlite3*"):
        file.unlink()
    return folder


@pytest.fixture
def folder(ready_made: Path, tmp_path: Path) -> Path:
    """For a test that starts providers of its own, with other settings or twice."""
    return Path(shutil.copytree(ready_made, tmp_path / "providers"))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def started(ready_made: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningProviders]:
    folder = Path(shutil.copytree(ready_made, tmp_path_factory.mktemp("shared") / "providers"))
    async with running_providers(folder) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def providers(started: RunningProviders) -> RunningProviders:
    await started.control.reset_state()
    await started.control.find_or_create_mailbox("outlook", OUTLOOK, "Ada Accounts")
    await started.control.find_or_create_mailbox("gmail", GMAIL, "Ada Accounts")
    return started


@pytest_asyncio.fixture(loop_scope="session")
async def webhook() -> AsyncIterator[WebhookReceiver]:
    async with run_webhook_receiver() as hook:
        yield hook


@pytest_asyncio.fixture(loop_scope="session")
async def outlook(providers: RunningProviders) -> MailboxUser:
    return await sign_in_outlook_user(providers)


@pytest_asyncio.fixture(loop_scope="session")
async def gmail(providers: RunningProviders) -> MailboxUser:
    return await sign_in_gmail_user(providers)

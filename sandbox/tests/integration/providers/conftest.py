"""Both providers on free ports, people who consented there, and a webhook that remembers what it was sent."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mailroom_sandbox.providers.people import GMAIL, OUTLOOK, Person, gmail_person, outlook_person
from mailroom_sandbox.providers.testing import RunningProviders, running_providers, settings_in
from mailroom_sandbox.providers.webhook_double import Webhook, listening_webhook
from mailroom_sandbox.providers.world import build_world


@pytest.fixture(scope="session")
def ready_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys and certificates, which take a second to make and may be the same in every test."""
    folder = tmp_path_factory.mktemp("providers")
    world = build_world(settings_in(folder))
    world.store.close()
    (folder / "ports").unlink()
    for file in (folder / "state").glob("providers.sqlite3*"):
        file.unlink()
    return folder


@pytest.fixture
def folder(ready_made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ready_made, tmp_path / "providers"))


@pytest.fixture
async def providers(folder: Path) -> AsyncIterator[RunningProviders]:
    async with running_providers(folder) as running:
        await running.control.create_mailbox("outlook", OUTLOOK, "Ada Accounts")
        await running.control.create_mailbox("gmail", GMAIL, "Ada Accounts")
        yield running


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with listening_webhook() as hook:
        yield hook


@pytest.fixture
async def outlook(providers: RunningProviders) -> Person:
    return await outlook_person(providers)


@pytest.fixture
async def gmail(providers: RunningProviders) -> Person:
    return await gmail_person(providers)

"""Fixtures for `conftest.py`: the sync on real tables, one mailbox in memory; a module may say whose mailbox it is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fake_mailbox import FakeGmail, FakeOutlook
from sync_harness import Engine, doc_source, open_engine

from mailroom_common.events import DocSource


@pytest.fixture
def connected_source() -> DocSource:
    return doc_source()


@pytest.fixture
async def engine(postgres_url: str, tmp_path: Path, connected_source: DocSource) -> AsyncIterator[Engine]:
    async with open_engine(postgres_url, tmp_path, connected_source) as engine:
        yield engine


@pytest.fixture
def outlook(engine: Engine) -> FakeOutlook:
    assert isinstance(engine.mailbox, FakeOutlook)
    return engine.mailbox


@pytest.fixture
def gmail(engine: Engine) -> FakeGmail:
    assert isinstance(engine.mailbox, FakeGmail)
    return engine.mailbox

"""kill -9 of the worker anywhere in a first sync: afterwards exactly the expected attachments, each once."""

import asyncio
import os
import signal
import sys
from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from uuid import uuid4

import pytest
from crash_mailbox import TAKEN, crash_mailbox
from dying_sync import run_and_die
from sync_harness import Engine, doc_source, open_engine

from mailroom_common.events import SyncReason

_STOPS = [
    ("outlook", "after_fetch:1"),
    ("outlook", "after_fetch:5"),
    ("outlook", "mid_blob:2"),
    ("outlook", "after_blob:4"),
    ("outlook", "before_commit:3"),
    ("outlook", "mid_page:2"),
    ("outlook", "mid_page:7"),
    ("outlook", "after_commit:1"),
    ("outlook", "before_end:1"),  # all is committed, and the request is not answered yet
    ("outlook", "before_slice_end:3"),  # a batch is committed, and nothing says yet that its full run goes on
    ("outlook", "after_slice_end:2"),
    ("gmail", "after_blob:4"),
    ("gmail", "mid_page:5"),
    ("gmail", "after_commit:1"),  # the history id is ours, the re-list not begun
    ("gmail", "after_commit:3"),
    ("gmail", "before_end:1"),
    ("gmail", "after_slice_end:2"),
]


@pytest.fixture(scope="module")
def fork_server() -> ForkServerContext:
    """It has imported what each process that dies needs, which costs more than the run."""
    context = get_context("forkserver")
    context.set_forkserver_preload([run_and_die.__module__])
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # the tests' own modules are found as here
        forkserver.ensure_running()
    return context


async def _run_and_die(
    fork_server: ForkServerContext, database_url: str, blobs: Path, doc_source_id: str, provider: str, stop_at: str
) -> int | None:
    child = fork_server.Process(target=run_and_die, args=(database_url, blobs, doc_source_id, provider, stop_at))
    child.start()
    await asyncio.to_thread(child.join)
    return child.exitcode


@pytest.mark.parametrize(("provider", "stop_at"), _STOPS)
async def test_a_worker_killed_at_any_point_leaves_nothing_out_and_does_nothing_twice(
    fork_server: ForkServerContext, postgres_url: str, tmp_path: Path, provider: str, stop_at: str
) -> None:
    source = doc_source(provider, doc_source_id=str(uuid4()))
    mailbox = crash_mailbox(provider)
    async with open_engine(postgres_url, tmp_path, source, mailbox) as engine:
        died = await _run_and_die(fork_server, postgres_url, tmp_path, source.doc_source_id, provider, stop_at)
        assert died == -signal.SIGKILL
        await _every_blob_is_accounted_for(engine)
        await engine.complete_run(SyncReason.CONNECT)
        assert await engine.collected_mails() == TAKEN
        assert sorted(row["message_id"] for row in await engine.read_rows("message")) == TAKEN
        parts = await engine.read_rows("message_part")
        assert len(parts) == 2 * len(TAKEN)
        assert engine.stored_blobs() == {row["blob_key"] for row in parts if row["stored"]}
        assert await engine.read_rows("blob_upload") == [], "no announcement is left of what was taken in the end"
        assert all(row["page_token"] is None for row in await engine.read_rows("cursor")), "every round came to its end"


async def _every_blob_is_accounted_for(engine: Engine) -> None:
    """Before anything is run again: a blob that is neither announced nor named by a part is never swept."""
    announced = {row["blob_key"] for row in await engine.read_rows("blob_upload")}
    named = {row["blob_key"] for row in await engine.read_rows("message_part")}
    assert engine.stored_blobs() <= announced | named


async def test_after_a_crash_the_round_goes_on_from_its_page_token(
    fork_server: ForkServerContext, postgres_url: str, tmp_path: Path
) -> None:
    source = doc_source("outlook", doc_source_id=str(uuid4()))
    mailbox = crash_mailbox("outlook")
    async with open_engine(postgres_url, tmp_path, source, mailbox) as engine:
        # One commit is of the other folder, which is empty.
        await _run_and_die(fork_server, postgres_url, tmp_path, source.doc_source_id, "outlook", "before_commit:5")
        (inbox,) = [row for row in await engine.read_rows("cursor") if row["scope"] == "f-inbox"]
        assert inbox["position"] is None
        assert inbox["page_token"] is not None
        fetched, taken = mailbox.calls["fetch"], len(await engine.read_rows("message"))
        assert taken >= 3, "the first page of three was through"
        await engine.complete_run(SyncReason.CONNECT)
        assert mailbox.calls["fetch"] - fetched == len(TAKEN) - taken

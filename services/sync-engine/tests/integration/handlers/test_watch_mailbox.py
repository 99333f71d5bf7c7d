"""Which folders are watched, and what becomes of names that the mailbox does not have any more."""

from pathlib import Path

import pytest
from fake_mailbox import FakeGmail, FakeOutlook, File
from sync_harness import Engine, doc_source, open_engine

from mailroom_common.events import ConnectionKind, SyncReason
from mailroom_common.providers.types import Folder
from sync_engine.adapters.connection_events import PgConnectionEvents


async def test_only_watched_folders_are_collected_from(engine: Engine, outlook: FakeOutlook) -> None:
    for folder in ("f-inbox", "f-invoices", "f-junk", "f-deleted", "f-sent"):
        outlook.deliver(f"in-{folder}", File(), folder_id=folder)
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)
    outlook.deliver("junk-again", File(), folder_id="f-junk")
    await engine.complete_run()
    assert await engine.collected_mails() == ["in-f-inbox", "in-f-invoices"]


async def test_a_folder_made_since_the_last_full_run_is_watched_at_once(engine: Engine, outlook: FakeOutlook) -> None:
    await engine.complete_run()
    engine.clock.pass_by(seconds=30)
    outlook.tree.append(type(outlook.tree[0])("f-new", "Projekte"))
    outlook.deliver("m1", File(), folder_id="f-new")
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


@pytest.mark.parametrize("before", [Folder("Label_7", "Quittungen"), Folder("Label_1", "Anderes")])
async def test_a_label_that_gets_a_watched_name_or_is_made_brings_the_mail_that_has_it(
    postgres_url: str, tmp_path: Path, before: Folder
) -> None:
    async with open_engine(postgres_url, tmp_path, doc_source("gmail", folders=["Belege"])) as engine:
        gmail = engine.mailbox
        assert isinstance(gmail, FakeGmail)
        gmail.labels = [before]
        await engine.complete_run(SyncReason.CONNECT)
        gmail.deliver("elsewhere", File())
        gmail.deliver("has-it", File(), labels=frozenset({"Label_7"}))
        await engine.complete_run()
        gmail.labels = [Folder("Label_7", "Belege")]
        gmail.deliver("before-we-know", File(), labels=frozenset({"Label_7"}))
        await engine.complete_run()
        assert await engine.collected_mails() == []
        engine.clock.pass_by(minutes=11)  # a full run is due, which lists the labels anew
        await engine.complete_run(SyncReason.BACKSTOP)
        assert await engine.collected_mails() == ["before-we-know", "has-it"]
        gmail.calls.clear()
        engine.clock.pass_by(minutes=11)
        await engine.complete_run(SyncReason.BACKSTOP)
        assert gmail.calls["relist"] == 0, "once"


async def test_a_label_that_vanishes_is_reported_once_and_its_return_too(postgres_url: str, tmp_path: Path) -> None:
    source = doc_source("gmail", folders=["inbox", "Belege"])
    async with open_engine(postgres_url, tmp_path, source) as engine:
        gmail = engine.mailbox
        assert isinstance(gmail, FakeGmail)
        gmail.labels = [Folder("Label_7", "Belege")]
        connections = PgConnectionEvents(engine.pool, engine.outbox, engine.clock)

        async def sync_fully() -> list[tuple[ConnectionKind, str | None]]:
            before = len(await engine.read_connection_events())
            engine.clock.pass_by(minutes=11)  # a full run is due, which lists the labels anew
            await connections.report_synced(engine.source, await engine.complete_run(SyncReason.BACKSTOP))
            return [(event.kind, event.trouble) for event in (await engine.read_connection_events())[before:]]

        synced = (ConnectionKind.SYNCED, None)
        missing = (
            ConnectionKind.SYNCED,
            "not in the mailbox any more: Belege (of `folders`): name them as they are called now",
        )
        assert await sync_fully() == [synced]
        gmail.labels = []
        gmail.deliver("in-inbox", File())
        assert await sync_fully() == [missing], "it is synced, and something is wrong all the same"
        assert await engine.collected_mails() == ["in-inbox"], "the rest of the mailbox is synced all the same"
        hinted = await engine.complete_run()
        assert hinted.missing_folders == ("Belege",)
        await connections.report_synced(engine.source, hinted)
        assert await sync_fully() == [missing]
        gmail.labels = [Folder("Label_8", "belege")]
        assert await sync_fully() == [synced]


async def test_a_folder_that_vanishes_is_missing_and_the_others_are_read(postgres_url: str, tmp_path: Path) -> None:
    async with open_engine(postgres_url, tmp_path, doc_source(folders=["inbox", "inbox/Rechnungen"])) as engine:
        outlook = engine.mailbox
        assert isinstance(outlook, FakeOutlook)
        assert (await engine.complete_run()).missing_folders == ()
        outlook.tree = [folder for folder in outlook.tree if folder.folder_id != "f-invoices"]
        outlook.deliver("m1", File())
        engine.clock.pass_by(minutes=11)
        assert (await engine.complete_run(SyncReason.BACKSTOP)).missing_folders == ("inbox/Rechnungen",)
        assert await engine.collected_mails() == ["m1"]
        assert (await engine.complete_run()).missing_folders is None, "a hinted run has not looked"

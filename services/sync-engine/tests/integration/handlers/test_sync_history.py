"""Runs of a Gmail mailbox: always the history, and beside it a re-list where the history does not reach back."""

from datetime import timedelta

import pytest
from fake_mailbox import FakeGmail, File
from sync_harness import START, Engine, doc_source

from mailroom_common.budgets.waiting import is_old_mail
from mailroom_common.errors import CursorRefused, ItemGone, PageTokenRefused, ProviderUnavailable, Rejected, Throttled
from mailroom_common.events import DocSource, Relist, SyncReason
from mailroom_common.providers.ports import RELIST_SCOPE
from mailroom_common.providers.types import Folder
from sync_engine.domain.run_outcomes import NotSyncable, RunDeferred, RunUnfinished
from sync_engine.domain.run_planning import RETRY_DELAYS, SyncTimings


@pytest.fixture
def connected_source() -> DocSource:
    return doc_source("gmail")


async def test_first_run_takes_the_history_id_and_then_lists_what_is_there(engine: Engine, gmail: FakeGmail) -> None:
    gmail.deliver("since-consent", File())
    gmail.deliver("before-the-start", File(), received_at=START - timedelta(seconds=1))
    await engine.complete_run(SyncReason.CONNECT)
    assert await engine.collected_mails() == ["since-consent"]
    assert {row["scope"]: row["position"] for row in await engine.read_rows("cursor")} == {
        "history": "2",
        "relist": "done",
    }


async def test_a_woken_mailbox_with_nothing_new_costs_one_call(engine: Engine, gmail: FakeGmail) -> None:
    gmail.deliver("m1", File())
    await engine.complete_run()
    gmail.calls.clear()
    await engine.complete_run()
    assert gmail.calls == {"history": 1}


async def test_new_mail_does_not_wait_for_a_re_list(engine: Engine, gmail: FakeGmail) -> None:
    gmail.page_size = 30
    for number in range(25):
        gmail.deliver(f"old-{number:02}", File())
    order: list[str] = []

    async def more_mail(message_id: str) -> None:
        order.append(message_id)
        if len(order) == 5:
            gmail.deliver("new", File())

    gmail.meanwhile["fetch"] = more_mail
    await engine.complete_run(SyncReason.CONNECT)
    assert order.index("new") < 20, "it came while the first page of the list was under way"
    assert len(await engine.collected_mails()) == 26


async def test_only_the_re_list_is_paid_as_old_mail(engine: Engine, gmail: FakeGmail) -> None:
    gmail.page_size = 30
    for number in range(25):
        gmail.deliver(f"old-{number:02}", File())
    paid: set[tuple[str, bool]] = set()

    def watch_call(name: str) -> None:
        async def record(_: str) -> None:
            paid.add((name, is_old_mail()))

        gmail.meanwhile[name] = record

    for name in ("profile", "history", "relist", "fetch"):
        watch_call(name)
    await engine.complete_run(SyncReason.CONNECT)
    assert paid == {("profile", False), ("history", False), ("relist", True), ("fetch", True)}


async def test_a_re_list_that_was_cut_off_goes_on_beside_the_history(engine: Engine, gmail: FakeGmail) -> None:
    for number in range(7):
        gmail.deliver(f"m{number}", File(), in_history=False)
    gmail.item_errors["m2"] = ProviderUnavailable("500")
    first = await engine.run_sync(SyncReason.CONNECT)
    assert isinstance(first, RunDeferred)
    gmail.deliver("new", File())
    engine.clock.now = first.not_before
    await engine.complete_run()
    assert await engine.collected_mails() == sorted(["new", *(f"m{number}" for number in range(7) if number != 2)])
    del gmail.item_errors["m2"]
    engine.clock.pass_by(minutes=5)
    await engine.complete_run()
    assert "m2" in await engine.collected_mails()


async def test_refused_history_id_forces_a_re_list_that_takes_nothing_twice(engine: Engine, gmail: FakeGmail) -> None:
    gmail.deliver("m1", File())
    await engine.complete_run()
    gmail.deliver("m2", File(), in_history=False)
    gmail.errors["history"] = [CursorRefused("404")]
    gmail.calls.clear()
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1", "m2"]
    assert gmail.calls["relist"] == 1
    await engine.complete_run()
    assert gmail.calls["relist"] == 1, "one re-list per refused history"


@pytest.mark.parametrize(
    ("labels", "taken"),
    [
        ({"INBOX"}, True),
        (set(), True),  # archived
        ({"SENT"}, False),
        ({"SENT", "INBOX"}, True),  # to oneself
        ({"DRAFT"}, False),
        ({"TRASH"}, False),
        ({"SPAM"}, False),
        ({"CHAT"}, False),
    ],
)
async def test_labels_that_the_message_has_now_decide(
    engine: Engine, gmail: FakeGmail, labels: set[str], taken: bool
) -> None:
    await engine.complete_run()
    gmail.deliver("m1", File(), labels=frozenset(labels))
    await engine.complete_run()
    assert (await engine.collected_mails() == ["m1"]) is taken


async def test_a_mail_that_comes_out_of_spam_is_collected(engine: Engine, gmail: FakeGmail) -> None:
    gmail.deliver("m1", File(), labels=frozenset({"SPAM"}))
    await engine.complete_run()
    gmail.relabel("m1", frozenset({"INBOX"}))
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


async def test_mail_deleted_between_history_and_fetch_is_no_failure(engine: Engine, gmail: FakeGmail) -> None:
    await engine.complete_run()
    gmail.deliver("m1", File())
    gmail.delete("m1")
    await engine.complete_run()
    assert await engine.read_rows("parked_item") == []


async def test_a_label_of_the_users_own_is_watched_by_its_name(engine: Engine, gmail: FakeGmail) -> None:
    gmail.labels = [Folder("Label_7", "Rechnungen/2026")]
    await engine.change_source(folders=["rechnungen/2026"])
    gmail.deliver("in", File(), labels=frozenset({"Label_7"}))
    gmail.deliver("out", File())
    await engine.complete_run()
    assert await engine.collected_mails() == ["in"]
    gmail.calls.clear()
    await engine.complete_run()
    assert gmail.calls == {"history": 1}, "what the label's id is, is known by now"


@pytest.mark.parametrize("is_new_mail", [True, False], ids=["history", "re-list"])
async def test_a_throttled_page_makes_progress_over_mails_that_leave_no_row(
    engine: Engine, gmail: FakeGmail, is_new_mail: bool
) -> None:
    gmail.page_size, gmail.tells_labels = 100, False
    if is_new_mail:
        await engine.complete_run(SyncReason.CONNECT)
    for number in range(60):
        gmail.deliver(f"m{number:02}", File(), labels=frozenset({"SPAM"}), in_history=is_new_mail)
    gmail.deliver("wanted", File(), in_history=is_new_mail)
    gmail.calls.clear()
    gmail.limit_units(10, {"fetch": 1})
    worker = engine.sync_engine()  # one process: what it remembers is in memory
    for _ in range(8):
        outcome = await worker.sync_mailbox(engine.source, reasons=frozenset({SyncReason.NOTIFICATION}))
        if not isinstance(outcome, RunDeferred):
            break
        engine.clock.pass_by(minutes=1)
    assert await engine.collected_mails() == ["wanted"]
    assert gmail.units_spent == 61, "each mail was fetched once"


async def test_a_mail_that_left_no_row_is_processed_again_once_its_labels_change(
    engine: Engine, gmail: FakeGmail
) -> None:
    gmail.page_size, gmail.tells_labels = 100, False
    await engine.complete_run(SyncReason.CONNECT)
    gmail.deliver("moved", File(), labels=frozenset({"SPAM"}))
    gmail.deliver("late", File())
    gmail.item_errors["late"] = Throttled("429")
    worker = engine.sync_engine()
    reasons = frozenset({SyncReason.NOTIFICATION})
    assert isinstance(await worker.sync_mailbox(engine.source, reasons=reasons), RunDeferred)
    gmail.relabel("moved", frozenset({"INBOX"}))
    gmail.item_errors.clear()
    engine.clock.pass_by(minutes=1)
    await worker.sync_mailbox(engine.source, reasons=reasons)
    assert await engine.collected_mails() == ["late", "moved"]


_QUOTA = 6_000  # units a minute, as new projects have them
_COSTS = {"history": 2, "relist": 5, "profile": 1, "fetch": 20, "open_part": 20}


@pytest.mark.parametrize("is_new_mail", [True, False], ids=["history", "re-list"])
async def test_a_backlog_drains_at_the_pace_of_the_quota(engine: Engine, gmail: FakeGmail, is_new_mail: bool) -> None:
    """450 mails of one PDF each, 18,000 units: three minutes' worth."""
    gmail.page_size = 500
    if is_new_mail:
        await engine.complete_run(SyncReason.CONNECT)
        engine.clock.pass_by(minutes=2)
    mails = sorted(f"m{number:03}" for number in range(450))
    for message_id in mails:
        gmail.deliver(message_id, File(), in_history=is_new_mail)
    gmail.limit_units(_QUOTA, _COSTS)
    began_at = engine.clock.now
    while isinstance(outcome := await engine.run_sync(), RunDeferred):
        assert outcome.not_before - engine.clock.now <= timedelta(seconds=20), "a throttle does not double the pause"
        engine.clock.now = outcome.not_before
        assert engine.clock.now - began_at < timedelta(minutes=5), await engine.collected_mails()
    assert await engine.collected_mails() == mails
    assert gmail.units_spent < 450 * 40 * 1.15, "what was fetched is kept"


async def test_a_re_list_that_was_asked_for_takes_what_is_not_stored_and_nothing_else(
    engine: Engine, gmail: FakeGmail
) -> None:
    gmail.deliver("known", File())
    await engine.complete_run(SyncReason.CONNECT)
    gmail.deliver("missed", File(), in_history=False)
    gmail.deliver("older", File(), received_at=START + timedelta(minutes=1), in_history=False)
    gmail.calls.clear()
    await engine.change_source(relist_from=START + timedelta(minutes=5), relist_number=1)
    await engine.complete_run(SyncReason.REPLAY)
    assert await engine.collected_mails() == ["known", "missed"]

    await engine.complete_run()
    assert gmail.calls["relist"] == 1, "once for each number"


async def test_two_re_lists_before_a_run_take_what_the_wider_one_takes(engine: Engine, gmail: FakeGmail) -> None:
    await engine.complete_run(SyncReason.CONNECT)
    gmail.deliver("missed", File(), received_at=START + timedelta(minutes=5), in_history=False)
    wide, narrow = START + timedelta(minutes=1), START + timedelta(minutes=10)
    await engine.change_source(
        relist_from=narrow, relist_number=2, earlier_relists=[Relist(number=1, relist_from=wide)]
    )
    await engine.complete_run(SyncReason.REPLAY)
    assert await engine.collected_mails() == ["missed"]
    runs = sorted(await engine.read_rows("sync_run"), key=lambda run: run["seq"])
    assert [(run["kind"], run["relist_number"]) for run in runs] == [("all_cursors", 0), ("all_cursors", 2)]


async def test_a_run_of_before_a_wider_re_list_does_not_end_it(engine: Engine, gmail: FakeGmail) -> None:
    """Its worker has lost the partition and does not know it."""
    await engine.complete_run(SyncReason.CONNECT)
    gmail.deliver("old", File(), received_at=START - timedelta(hours=1), in_history=False)
    gmail.deliver("new", File(), received_at=START + timedelta(minutes=5), in_history=False)
    await engine.change_source(relist_from=START, relist_number=1)
    wider = {"start_at": START - timedelta(hours=2), "relist_from": START - timedelta(hours=2), "relist_number": 2}

    async def begin_wider(_: str) -> None:
        gmail.meanwhile.clear()
        before = engine.source
        await engine.change_source(**wider)
        await engine.states.begin_relist(engine.source, gmail.traits.change_listing)
        engine.source = before

    gmail.meanwhile["relist"] = begin_wider
    outcome = await engine.run_sync(SyncReason.REPLAY)
    assert isinstance(outcome, NotSyncable)
    gmail.calls.clear()
    assert isinstance(await engine.run_sync(), NotSyncable)
    assert gmail.calls == {}, "what it would find could not be stored"
    await engine.change_source(**wider)
    await engine.complete_run(SyncReason.REPLAY)
    assert await engine.collected_mails() == ["new", "old"]


async def test_a_re_list_from_the_start_that_is_under_way_is_not_cut_short(engine: Engine, gmail: FakeGmail) -> None:
    for number in range(3):
        gmail.deliver(f"m{number}", File(), received_at=START + timedelta(minutes=10 + number), in_history=False)
    gmail.errors["relist"] = [ProviderUnavailable("500")]
    first = await engine.run_sync(SyncReason.CONNECT)
    assert isinstance(first, RunDeferred)
    engine.clock.now = first.not_before
    await engine.change_source(relist_from=START + timedelta(minutes=12), relist_number=1)
    await engine.complete_run(SyncReason.REPLAY)
    assert await engine.collected_mails() == ["m0", "m1", "m2"]


async def test_labels_that_change_on_old_mail_cost_no_fetch(engine: Engine, gmail: FakeGmail) -> None:
    gmail.page_size = 100
    for number in range(200):
        gmail.deliver(f"old-{number}", File(), received_at=START - timedelta(days=1), in_history=False)
    await engine.complete_run(SyncReason.CONNECT)
    gmail.calls.clear()
    for number in range(200):
        gmail.relabel(f"old-{number}", frozenset({"INBOX", "STARRED"}))
    await engine.complete_run()
    assert gmail.calls == {"history": 2}


async def test_old_mail_that_was_fetched_once_is_passed_over_until_the_start_is_moved_back(
    engine: Engine, gmail: FakeGmail
) -> None:
    gmail.deliver("old", File(), labels=frozenset({"SPAM"}), received_at=START - timedelta(hours=1), in_history=False)
    await engine.complete_run(SyncReason.CONNECT)
    fetches = []
    for _ in range(3):
        gmail.relabel("old", frozenset({"INBOX"}))
        gmail.calls.clear()
        await engine.complete_run()
        fetches.append(gmail.calls["fetch"])
        gmail.relabel("old", frozenset({"SPAM"}))
    assert fetches == [1, 0, 0]
    await engine.change_source(start_at=START - timedelta(hours=2))
    gmail.relabel("old", frozenset({"INBOX"}))
    await engine.complete_run()
    assert await engine.collected_mails() == ["old"]


async def test_a_mail_that_lay_elsewhere_at_the_moment_of_its_fetch_is_collected_when_it_is_back(
    engine: Engine, gmail: FakeGmail
) -> None:
    """Before and after both changes it is in the inbox, and the fetch found it in neither."""
    await engine.complete_run(SyncReason.CONNECT)
    gmail.deliver("m1", File())

    async def throw_away(message_id: str) -> None:
        gmail.meanwhile.clear()
        gmail.relabel(message_id, frozenset({"TRASH"}))

    gmail.meanwhile["fetch"] = throw_away
    await engine.complete_run()
    assert await engine.collected_mails() == []
    gmail.relabel("m1", frozenset({"INBOX"}))
    await engine.complete_run()
    assert await engine.collected_mails() == ["m1"]


async def test_a_draft_that_is_deleted_between_two_pages_is_done(engine: Engine, gmail: FakeGmail) -> None:
    await engine.complete_run(SyncReason.CONNECT)
    gmail.page_size = 1
    gmail.deliver("told", File(), labels=frozenset({"DRAFT"}))
    gmail.tells_labels = False
    gmail.deliver("not-told", File(), labels=frozenset({"DRAFT"}))
    gmail.delete("told")
    gmail.delete("not-told")
    gmail.calls.clear()
    await engine.complete_run()
    assert await engine.read_rows("parked_item") == await engine.read_rows("message") == []
    assert gmail.calls["fetch"] == 1


async def test_a_new_mail_that_cannot_be_read_yet_is_tried_again(engine: Engine, gmail: FakeGmail) -> None:
    await engine.complete_run(SyncReason.CONNECT)
    gmail.deliver("late", File())
    gmail.item_errors["late"] = ItemGone("announced, and not readable yet")
    await engine.complete_run()
    gmail.item_errors.clear()
    engine.clock.pass_by(seconds=31)
    await engine.complete_run()
    assert await engine.collected_mails() == ["late"]


async def test_a_known_mail_is_judged_anew_only_when_it_comes_back(engine: Engine, gmail: FakeGmail) -> None:
    text = File(b"hello", "notes.txt", "text/plain")
    gmail.deliver("m1", text)
    await engine.complete_run(SyncReason.CONNECT)
    gmail.calls.clear()
    for labels in ({"INBOX", "STARRED"}, {"STARRED"}, {"SPAM"}):
        gmail.relabel("m1", frozenset(labels))
        await engine.complete_run()
    assert gmail.calls["fetch"] == 0
    gmail.relabel("m1", frozenset({"INBOX"}))
    await engine.complete_run()
    assert gmail.calls == {"history": 4, "fetch": 1}, "a part that was read is not read again"
    assert (await engine.read_row("message"))["judgement_number"] == 2


async def test_a_parked_mail_is_collected_by_a_run_that_ends_with_its_slice(engine: Engine, gmail: FakeGmail) -> None:
    gmail.deliver("parked", File())
    gmail.item_errors["parked"] = Rejected("400")
    await engine.complete_run(SyncReason.CONNECT)
    del gmail.item_errors["parked"]
    engine.clock.now += RETRY_DELAYS[0]
    gmail.page_size = 1
    for number in range(3):
        gmail.deliver(f"new-{number}", File())
    engine.timings = SyncTimings(slice_duration=timedelta(0))
    assert isinstance(await engine.run_sync(), RunUnfinished)
    assert "parked" in await engine.collected_mails()


async def test_a_re_list_whose_page_tokens_are_always_refused_counts_as_failing(
    engine: Engine, gmail: FakeGmail
) -> None:
    """The pages before it are read again each time, which is no progress; new mail comes all the same."""
    for number in range(7):
        gmail.deliver(f"old-{number}", File())

    async def refuse_pages(_: str) -> None:
        cursor = await engine.repositories.cursors.read_cursor(engine.source.doc_source_id, RELIST_SCOPE)
        if cursor.page_token is not None:
            raise PageTokenRefused("400")

    gmail.meanwhile["relist"] = refuse_pages
    for _ in range(3):
        outcome = await engine.run_sync()
        assert isinstance(outcome, RunDeferred)
        engine.clock.now = outcome.not_before
    assert (await engine.read_row("sync_state"))["failed_attempts"] == 3
    gmail.deliver("new", File())
    await engine.run_sync()
    assert "new" in await engine.collected_mails()

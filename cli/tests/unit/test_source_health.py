from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mailroom_cli.source_health import SourceHealth, format_age, judge_source

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def source(**changed: Any) -> dict[str, Any]:
    works: dict[str, Any] = {
        "id": "0b8f0f4e",
        "state": "active",
        "connection_status": "active",
        "connection_reason": None,
        "current_error": None,
        "subscription_expires_at": "2026-12-04T09:12:44Z",
        "last_successful_sync_at": "2026-11-28T11:59:00Z",
        "created_at": "2026-11-27T09:10:02Z",
    }
    return {**works, **changed}


def state(**changed: Any) -> dict[str, Any]:
    works: dict[str, Any] = {
        "is_grant_refused": False,
        "failed_attempts": 0,
        "not_before": None,
        "missing_folders": [],
        "open_messages": 0,
        "parked_items": 0,
    }
    return {**works, **changed}


def judge(
    of_source: dict[str, Any], of_state: dict[str, Any] | None = None, *, runs: Any = (), parked: Any = ()
) -> SourceHealth:
    return judge_source(of_source, of_state or state(), runs, parked, NOW)


def test_mailbox_without_trouble_works() -> None:
    health = judge(source())
    assert (health.is_working, health.summary) == (True, "works")


def test_pending_says_why_and_how_to_go_on() -> None:
    health = judge(source(state="pending", connection_reason="folders_missing", current_error="no folder named Bils"))
    assert health.troubles == (
        "a folder is missing (no folder named Bils): `mailroom sources authorize 0b8f0f4e` makes a new link",
    )


def test_paused_says_how_to_resume() -> None:
    assert "mailroom sources resume 0b8f0f4e" in judge(source(state="paused")).summary


def test_mailbox_whose_mail_this_site_cannot_store_does_not_work() -> None:
    failed = {"outcome": "failed", "detail": "S3: NoCredentialsError"}
    assert judge(source(), runs=[failed]).troubles == (
        "the last sync failed (S3: NoCredentialsError): the log of sync-engine's worker says more",
    )
    assert judge(source(), runs=[{"outcome": "done", "detail": None}, failed]).is_working


def test_refused_grant_says_how_to_consent_anew() -> None:
    health = judge(source(connection_status="token_refresh_failed", connection_reason="token_refused"))
    assert "mailroom sources authorize 0b8f0f4e" in health.summary
    assert not health.is_working


def test_failed_syncs_name_the_last_error_and_the_next_attempt() -> None:
    health = judge(
        source(),
        state(failed_attempts=3, not_before="2026-11-28T12:05:00Z"),
        runs=[{"detail": None}, {"detail": "Graph answered 503"}],
    )
    assert health.troubles == ("3 failed syncs in a row (Graph answered 503); next attempt in 5 min",)


def test_mailbox_without_a_recent_success_is_behind() -> None:
    assert judge(source(last_successful_sync_at="2026-11-28T09:00:00Z")).troubles == (
        "is behind: the last successful sync was 3 h ago",
    )
    assert "no sync has succeeded since it was connected" in judge(source(last_successful_sync_at=None)).summary


def test_mailbox_that_was_just_connected_is_not_behind() -> None:
    assert judge(source(last_successful_sync_at=None, created_at="2026-11-28T11:55:00Z")).is_working


def test_source_that_no_worker_has_read_is_named() -> None:
    health = judge_source(source(), None, (), (), NOW)
    assert "is sync-engine's worker running?" in health.summary


def test_parked_mails_and_a_missing_subscription_are_notes() -> None:
    health = judge(
        source(subscription_expires_at=None, current_error="Graph answered 400"),
        state(parked_items=2, open_messages=1),
        parked=[{"reason": "access_denied", "next_attempt_at": "2026-11-28T12:10:00Z"}],
    )
    assert health.is_working
    assert health.notes == (
        "the provider sends no notifications yet: new mail comes with the backstop sync (Graph answered 400)",
        "1 mails wait for their documents to be read",
        "2 mails are parked: access_denied, tried again in 10 min",
    )


def test_parked_mail_whose_time_has_come_is_due_now() -> None:
    parked = [{"reason": "access_denied", "next_attempt_at": "2026-11-28T11:59:00Z"}]
    health = judge(source(), state(parked_items=1), parked=parked)
    assert health.notes == ("1 mails are parked: access_denied, to be tried again now",)


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (timedelta(seconds=-1), "0 s"),
        (timedelta(seconds=119), "119 s"),
        (timedelta(minutes=2), "2 min"),
        (timedelta(hours=47), "47 h"),
        (timedelta(days=3), "3 d"),
    ],
)
def test_age_is_told_in_the_unit_that_it_has_two_of(age: timedelta, text: str) -> None:
    assert format_age(age) == text

from dataclasses import replace

import pytest
from connection_samples import NOW, TOKEN_TROUBLE, make_connection, make_subscription, make_trouble

from mailroom_common.events import SyncReason
from subscription_manager.domain.connection import (
    ConnectionState,
    ConnectionStatus,
    PendingReason,
    Trouble,
    TroubleReason,
    build_doc_source_event,
    build_sync_request,
    build_user_key,
    needs_new_version,
)


def test_account_is_named_over_all_tenants_whatever_the_case_of_its_address() -> None:
    one = make_connection(address="Ada@Contoso.example")
    other = make_connection(address="ada@contoso.example", tenant_id="other", provider_user_id=None)
    assert one.account_key == other.account_key


def test_key_of_a_user_is_never_that_of_an_address() -> None:
    address = "ada@contoso.example"
    assert build_user_key(address) != make_connection(address=address).account_key


def test_connection_without_consent_has_no_mailbox() -> None:
    with pytest.raises(ValueError, match="no mailbox yet"):
        make_connection(address=None).build_mailbox()


def test_soft_deleted_row_is_a_tombstone() -> None:
    assert build_doc_source_event(make_connection(state=ConnectionState.DELETED), NOW) is None


def test_status_and_schedule_are_no_new_version_and_what_is_published_is() -> None:
    connection = make_connection()
    quiet = replace(
        connection,
        sync_trouble=TOKEN_TROUBLE,
        next_check_at=None,
        failed_attempts=3,
        last_successful_sync_at=NOW,
    )
    assert not needs_new_version(connection, quiet)
    for changed in (
        replace(connection, state=ConnectionState.PAUSED),
        replace(connection, subscription=make_subscription()),
        replace(connection, grant_generation=2),
        replace(connection, state=ConnectionState.DELETED),
    ):
        assert needs_new_version(connection, changed)


def test_of_two_troubles_the_worse_is_the_status_and_both_say_what_to_do() -> None:
    refused = make_trouble(ConnectionStatus.SUBSCRIPTION_EXPIRED, TroubleReason.SUBSCRIPTION_REFUSED, "grant the topic")
    denied = make_trouble(ConnectionStatus.PROVIDER_ERROR, TroubleReason.ACCESS_DENIED, "ask the administrator")
    failing = make_trouble(ConnectionStatus.PROVIDER_ERROR, TroubleReason.PROVIDER_FAILING, "no folder Bills")
    brief = make_trouble(ConnectionStatus.ACTIVE, TroubleReason.SUBSCRIPTION_PENDING, "504")

    def show(sync: Trouble | None, subscription: Trouble | None) -> tuple[str | None, str | None, str | None]:
        shown = make_connection(sync_trouble=sync, subscription_trouble=subscription)
        return shown.connection_status, shown.connection_reason, shown.current_error

    assert show(denied, refused) == ("provider_error", "access_denied", "ask the administrator; also: grant the topic")
    assert show(TOKEN_TROUBLE, refused)[:2] == ("token_refresh_failed", "token_refused")
    assert show(failing, refused) == (
        "subscription_expired",
        "subscription_refused",
        "grant the topic; also: no folder Bills",
    )
    assert show(failing, brief) == ("provider_error", "provider_failing", "no folder Bills; also: 504")
    assert show(None, brief) == ("active", None, "504")
    assert show(None, None) == ("active", None, None)


def test_one_that_nobody_has_consented_to_has_no_status_but_a_reason() -> None:
    pending = make_connection(
        state=ConnectionState.PENDING, pending_reason=PendingReason.OTHER_MAILBOX, pending_error="x"
    )
    assert (pending.connection_status, pending.connection_reason, pending.current_error) == (None, "other_mailbox", "x")


def test_events_of_one_version_and_of_one_request_have_one_id() -> None:
    connection = make_connection()
    events = [build_doc_source_event(connection, NOW), build_doc_source_event(connection, NOW)]
    assert len({event.event_id for event in events if event is not None}) == 1
    requests = [build_sync_request(connection.id, "acme", SyncReason.MANUAL, NOW) for _ in range(2)]
    assert len({request.event_id for request in requests}) == 1

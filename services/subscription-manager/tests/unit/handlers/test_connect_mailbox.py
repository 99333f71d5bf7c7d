import asyncio
from base64 import urlsafe_b64encode
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

import pytest
from connection_fakes import NOW, OTHER_ID, TOKEN_TROUBLE, make_connection, make_trouble
from consent_setup import ConsentSetup, hold_cookie, read_state
from structlog.testing import capture_logs

from mailroom_common.errors import AccessDenied, ItemGone, ProviderUnavailable, Rejected
from mailroom_common.events import Profile, SyncReason
from mailroom_common.providers.types import Account, Folder
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import ConnectionState, ConnectionStatus, TroubleReason
from subscription_manager.handlers.connect_mailbox import AuthorizationResponse
from subscription_manager.handlers.consent_refusals import ConsentRefused


@pytest.fixture
def setup() -> ConsentSetup:
    return ConsentSetup()


async def test_looking_at_a_link_does_not_use_it_up(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    for _ in range(3):
        assert (await setup.connect.inspect_ticket("outlook", ticket)).id == connection.id
    assert (await setup.begin_consent(ticket)).url


async def test_ticket_is_good_once(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    await setup.begin_consent(ticket)
    with pytest.raises(ConsentRefused, match="used already"):
        await setup.begin_consent(ticket)
    with pytest.raises(ConsentRefused, match="used already"):
        await setup.connect.inspect_ticket("outlook", ticket)


async def test_ticket_expires(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    setup.clock.advance(timedelta(hours=1))
    with pytest.raises(ConsentRefused, match="expired"):
        await setup.begin_consent(ticket)


@pytest.mark.parametrize("ticket", ["", "guess"])
async def test_unknown_ticket_is_refused(setup: ConsentSetup, ticket: str) -> None:
    with pytest.raises(ConsentRefused, match="not valid"):
        await setup.connect.inspect_ticket("outlook", ticket)


async def test_ticket_of_one_provider_opens_no_page_of_another(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    with pytest.raises(ConsentRefused, match="not valid"):
        await setup.connect.inspect_ticket("gmail", ticket)


async def test_browser_is_sent_with_pkce_and_the_exact_redirect(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    await setup.finish_consent(redirect)
    (exchanged,) = setup.provider.exchanged
    asked = parse_qs(urlsplit(redirect.url).query)
    challenge = urlsafe_b64encode(sha256((exchanged["verifier"] or "").encode()).digest()).decode().rstrip("=")
    assert asked["code_challenge"] == [challenge]
    assert asked["nonce"] == [exchanged["nonce"]]
    assert exchanged["redirect"] == "https://mailroom.example/oauth/outlook/callback"
    assert setup.provider.calls[0] == "authorize https://mailroom.example/oauth/outlook/callback"


async def test_verifier_and_nonce_are_sealed_and_state_and_cookie_hashed(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    kept = repr(setup.flows.flows) + "".join(flow.sealed_flow_secrets for flow in setup.flows.flows.values())
    await setup.finish_consent(redirect)
    (exchanged,) = setup.provider.exchanged
    for secret in (read_state(redirect), redirect.cookie, exchanged["verifier"], exchanged["nonce"], ticket):
        assert secret is not None
        assert secret not in kept


async def test_consent_is_one_change_active_with_start_and_first_sync(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    assert (connected.state, connected.connection_status, connected.connection_reason) == (
        ConnectionState.ACTIVE,
        ConnectionStatus.ACTIVE,
        None,
    )
    assert (connected.address, connected.provider_user_id) == ("ada@contoso.example", "user-1")
    assert connected.start_at == NOW - timedelta(minutes=1)
    assert connected.grant_generation == 1
    assert connected.next_check_at == NOW
    assert connected.next_backstop_at is not None
    assert NOW <= connected.next_backstop_at <= NOW + timedelta(minutes=15)
    assert setup.connections.sync_requests == [(connected.id, SyncReason.CONNECT)]
    assert [version for _, version, _ in setup.connections.published] == [1, 2]
    assert setup.wake.count == 1


async def test_start_at_that_was_asked_for_stays(setup: ConsentSetup) -> None:
    asked = NOW - timedelta(days=30)
    _, ticket = await setup.create_with_link(start_at=asked)
    assert (await setup.finish_consent(await setup.begin_consent(ticket))).start_at == asked


async def test_tokens_go_to_the_store_and_nowhere_else(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    grant = setup.grants.stored[connected.id]
    assert (grant.tokens.access_token, grant.tokens.refresh_token) == ("access-canary", "refresh-canary")
    everything = repr((setup.connections.rows, setup.connections.published, setup.flows.flows, grant))
    assert "canary" not in everything


async def test_connecting_takes_the_locks_of_the_account(setup: ConsentSetup) -> None:
    await setup.connect_mailbox()
    assert setup.locks.order == ["account:outlook:ada@contoso.example", "account:outlook:user:user-1"]


async def test_another_browser_cannot_finish_and_does_not_spoil_it(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    with pytest.raises(ConsentRefused, match="another browser"):
        await setup.finish_consent(redirect, cookie="stolen")
    with pytest.raises(ConsentRefused, match="another browser"):
        await setup.connect.finish_consent(
            "outlook", AuthorizationResponse(read_state(redirect), "code", None), lambda _: None
        )
    assert setup.provider.exchanged == []
    assert (await setup.finish_consent(redirect)).state is ConnectionState.ACTIVE


@pytest.mark.parametrize("state", ["", "guess"])
async def test_unknown_state_is_refused(setup: ConsentSetup, state: str) -> None:
    with pytest.raises(ConsentRefused, match="no connection that was begun"):
        await setup.connect.finish_consent("outlook", AuthorizationResponse(state, "code", None), lambda _: "cookie")


async def test_second_answer_tells_what_became_of_the_first(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    connected = await setup.finish_consent(redirect)
    setup.clock.advance(timedelta(hours=1))
    assert await setup.finish_consent(redirect) == connected
    assert len(setup.provider.exchanged) == 1


async def test_second_answer_that_comes_while_the_first_is_under_way_waits_for_it(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)

    async def take_a_while() -> None:
        await asyncio.sleep(0.05)

    setup.provider.during["exchange"] = take_a_while
    first, second = await asyncio.gather(setup.finish_consent(redirect), setup.finish_consent(redirect))
    assert (first.state, first) == (ConnectionState.ACTIVE, second)
    assert len(setup.provider.exchanged) == 1


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (Rejected("canary"), "not what it must be"),
        (ProviderUnavailable("canary"), "could not be reached"),
    ],
)
async def test_second_answer_is_refused_with_the_sentence_of_the_first(
    setup: ConsentSetup, error: Exception, sentence: str
) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.provider.errors["exchange"] = error
    with pytest.raises((ConsentRefused, ProviderUnavailable)):
        await setup.finish_consent(redirect)
    setup.provider.errors.clear()
    with pytest.raises(ConsentRefused, match=sentence) as again:
        await setup.finish_consent(redirect)
    assert "canary" not in str(again.value)
    assert "not what it must be" not in repr(setup.flows.flows), "its sentence may name whoever signed in"


async def test_second_answer_after_an_error_that_nobody_foresaw_is_answered_at_once(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.provider.errors["exchange"] = ZeroDivisionError("canary")
    with pytest.raises(ZeroDivisionError):
        await setup.finish_consent(redirect)
    with pytest.raises(ConsentRefused, match="Something went wrong on our side") as again:
        await setup.finish_consent(redirect)
    assert "canary" not in str(again.value)


async def test_second_answer_after_a_process_died_over_the_first_says_what_to_do(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    await setup.flows.finish_flow(redirect.flow_id, NOW)
    with pytest.raises(ConsentRefused, match="has not ended yet"):
        await setup.finish_consent(redirect)
    setup.clock.advance(timedelta(minutes=3))
    with pytest.raises(ConsentRefused, match="Something went wrong on our side"):
        await setup.finish_consent(redirect)


async def test_second_answer_from_another_browser_is_told_nothing(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    await setup.finish_consent(redirect)
    with pytest.raises(ConsentRefused, match="another browser"):
        await setup.finish_consent(redirect, cookie="guess")


async def test_answer_that_comes_too_late_is_refused(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.clock.advance(timedelta(minutes=10))
    with pytest.raises(ConsentRefused, match="too long"):
        await setup.finish_consent(redirect)


async def test_declined_consent_changes_nothing_and_ends_the_flow(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    with pytest.raises(ConsentRefused, match="did not give access"):
        await setup.finish_consent(redirect, code=None)
    with pytest.raises(ConsentRefused):
        await setup.finish_consent(redirect)
    assert setup.connections.rows[connection.id].state is ConnectionState.PENDING


async def test_answer_for_another_provider_is_refused(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    with pytest.raises(ConsentRefused):
        await setup.connect.finish_consent(
            "gmail", AuthorizationResponse(read_state(redirect), "code", None), hold_cookie(redirect, redirect.cookie)
        )


async def test_answer_with_wrong_issuer_or_scopes_is_refused_readably(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    setup.provider.errors["exchange"] = Rejected("scopes are missing")
    with pytest.raises(ConsentRefused, match="not every permission"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.connections.rows[connection.id].state is ConnectionState.PENDING


async def test_access_without_a_refresh_token_is_refused(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    setup.provider.refresh_token = None
    with pytest.raises(ConsentRefused, match="this moment only"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.grants.stored == {}
    assert setup.connections.rows[connection.id].state is ConnectionState.PENDING


async def test_provider_that_is_away_at_the_exchange_is_said_to_be_away(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    setup.provider.errors["exchange"] = ProviderUnavailable("503")
    with pytest.raises(ProviderUnavailable):
        await setup.finish_consent(await setup.begin_consent(ticket))


async def test_generation_of_a_consent_exceeds_what_a_restored_doc_source_published(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    setup.connections.rows[connected.id] = replace(connected, grant_generation=7)
    again = await setup.finish_consent(await setup.begin_consent(await setup.create.issue_ticket(connected.id)))
    assert again.grant_generation == setup.grants.stored[connected.id].grant_generation == 8


async def test_reconnect_by_the_same_user_raises_the_generation_and_ends_the_trouble(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    setup.connections.rows[connected.id] = replace(
        connected,
        sync_trouble=TOKEN_TROUBLE,
        subscription_trouble=make_trouble(ConnectionStatus.SUBSCRIPTION_EXPIRED, TroubleReason.RENEWAL_FAILED),
    )
    ticket = await setup.create.issue_ticket(connected.id)
    again = await setup.finish_consent(await setup.begin_consent(ticket))
    assert (again.grant_generation, again.connection_status, again.connection_reason, again.current_error) == (
        2,
        ConnectionStatus.ACTIVE,
        None,
        None,
    )
    assert again.start_at == connected.start_at


async def test_reconnect_by_another_user_is_refused_and_the_old_grant_stays(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    setup.provider.account = replace(setup.provider.account, user_id="user-2", address="eve@contoso.example")
    ticket = await setup.create.issue_ticket(connected.id)
    with pytest.raises(ConsentRefused, match="another mailbox"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.grants.stored[connected.id].grant_generation == 1
    assert setup.connections.rows[connected.id].address == "ada@contoso.example"
    assert setup.provider.find_calls("revoke") == []


async def test_reconnect_of_a_paused_one_leaves_it_paused(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    setup.connections.rows[connected.id] = transitions.pause_connection(connected)
    again = await setup.finish_consent(await setup.begin_consent(await setup.create.issue_ticket(connected.id)))
    assert again.state is ConnectionState.PAUSED


async def test_mailbox_is_connected_once_per_tenant_and_profile(setup: ConsentSetup) -> None:
    await setup.connect_mailbox()
    second, ticket = await setup.create_with_link()
    with pytest.raises(ConsentRefused, match="connected for this purpose already"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert second.id in setup.grants.forgotten
    assert setup.connections.rows[second.id].state is ConnectionState.PENDING
    _, ticket = await setup.create_with_link(profile=Profile.OBSERVATION)
    assert (await setup.finish_consent(await setup.begin_consent(ticket))).state is ConnectionState.ACTIVE
    _, ticket = await setup.create_with_link(tenant_id="other")
    assert (await setup.finish_consent(await setup.begin_consent(ticket))).state is ConnectionState.ACTIVE


async def test_deleted_meanwhile_is_refused(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    redirect = await setup.begin_consent(await setup.create.issue_ticket(connected.id))
    setup.connections.rows[connected.id] = transitions.begin_deletion(connected, NOW)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)


async def test_deleted_during_the_exchange_is_refused_before_a_grant_is_stored(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    redirect = await setup.begin_consent(await setup.create.issue_ticket(connected.id))

    async def delete_row() -> None:
        setup.connections.rows[connected.id] = transitions.begin_deletion(connected, NOW)

    setup.provider.during["identify"] = delete_row
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.grants.stored[connected.id].grant_generation == 1


async def test_pending_one_that_is_gone_before_it_is_activated_gives_the_grant_back(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)

    async def delete_that_looked_before_the_grant_came() -> None:
        setup.connections.rows[connection.id] = transitions.begin_deletion(setup.connections.rows[connection.id], NOW)

    setup.connections.before_lock = delete_that_looked_before_the_grant_came
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_pending_one_that_is_deleted_before_it_is_activated_leaves_the_grant_to_its_end(
    setup: ConsentSetup,
) -> None:
    connection, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.connections.before_lock = lambda: setup.delete_doc_source(connection.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.provider.find_calls("revoke") == []
    assert (await setup.end_connection(connection.id)).state is ConnectionState.DELETED
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_deleted_during_the_exchange_gives_back_what_the_person_has_just_granted(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.provider.during["exchange"] = lambda: setup.delete_doc_source(connection.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_grant_of_one_whose_end_is_yet_to_come_is_left_for_it(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    redirect = await setup.begin_consent(await setup.create.issue_ticket(connected.id))
    setup.connections.before_lock = lambda: setup.delete_doc_source(connected.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.provider.find_calls("revoke") == []
    await setup.end_connection(connected.id)
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_grant_that_comes_after_the_end_is_given_back(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    redirect = await setup.begin_consent(await setup.create.issue_ticket(connected.id))

    async def end_row() -> None:
        await setup.delete_doc_source(connected.id)
        await setup.end_connection(connected.id)
        setup.provider.calls.clear()

    setup.provider.during["identify"] = end_row
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_grant_is_not_revoked_while_another_doc_source_of_the_account_lives(setup: ConsentSetup) -> None:
    await setup.connect_mailbox()
    connection, ticket = await setup.create_with_link(tenant_id="other")
    redirect = await setup.begin_consent(ticket)

    async def delete_row() -> None:
        await setup.change.delete_doc_source("other", connection.id)

    setup.provider.during["identify"] = delete_row
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert connection.id in setup.grants.forgotten
    assert setup.provider.find_calls("revoke") == []


async def test_refusal_is_shown_though_the_revocation_fails(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.provider.during["exchange"] = lambda: setup.delete_doc_source(connection.id)
    setup.provider.errors["revoke"] = ProviderUnavailable("503")
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)


async def test_delete_of_a_pending_one_gives_back_the_grant_that_a_failed_consent_left(setup: ConsentSetup) -> None:
    connection, _ = await setup.fail_consent_at_its_end(address="ADA@contoso.example")
    assert connection.id in setup.grants.stored
    wakes = setup.wake.count
    await setup.delete_doc_source(connection.id)
    assert setup.wake.count == wakes + 1
    assert (await setup.end_connection(connection.id)).state is ConnectionState.DELETED
    assert setup.grants.stored == {}
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]
    assert setup.connections.published[-1][2] is None


async def test_left_grant_is_kept_until_the_provider_has_taken_it_back(setup: ConsentSetup) -> None:
    connection, _ = await setup.fail_consent_at_its_end()
    await setup.delete_doc_source(connection.id)
    setup.provider.errors["revoke"] = ProviderUnavailable("503")
    with pytest.raises(ProviderUnavailable):
        await setup.end_connection(connection.id)
    assert connection.id in setup.grants.stored
    setup.provider.errors.clear()
    assert (await setup.end_connection(connection.id)).state is ConnectionState.DELETED
    assert setup.grants.stored == {}


async def test_left_grant_is_forgotten_only_while_another_doc_source_of_its_user_lives(setup: ConsentSetup) -> None:
    connection, _ = await setup.fail_consent_at_its_end()
    setup.provider.account = replace(setup.provider.account, address="renamed@contoso.example")
    other = await setup.connect_mailbox()
    await setup.delete_doc_source(connection.id)
    assert (await setup.end_connection(connection.id)).state is ConnectionState.DELETED
    assert list(setup.grants.stored) == [other.id]
    assert setup.provider.find_calls("revoke") == []


async def test_next_consent_completes_one_that_failed_at_its_end(setup: ConsentSetup) -> None:
    connection, _ = await setup.fail_consent_at_its_end()
    again = await setup.finish_consent(await setup.begin_consent(await setup.create.issue_ticket(connection.id)))
    assert (again.state, again.grant_generation) == (ConnectionState.ACTIVE, 2)


async def test_folder_that_is_not_there_is_refused_on_the_page_by_its_name(setup: ConsentSetup) -> None:
    setup.provider.folders = [Folder("f1", "Posteingang", "inbox"), Folder("f2", "Posteingang/Rechnungen")]
    connection, ticket = await setup.create_with_link(folders=("inbox/rechnungen", "Rechnungne"))
    with pytest.raises(ConsentRefused, match=r"ada@contoso.example has no folder or label named Rechnungne\."):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.connections.rows[connection.id].state is ConnectionState.PENDING
    assert setup.grants.stored == {}
    assert setup.connections.sync_requests == []


async def test_grant_of_one_with_a_missing_folder_is_given_back(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link(folders=("Rechnungne",))
    with pytest.raises(ConsentRefused):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.provider.calls[-2:] == ["list_folders ada@contoso.example", "revoke refresh-canary"]


async def test_missing_folder_revokes_nothing_while_the_account_has_another_doc_source(setup: ConsentSetup) -> None:
    await setup.connect_mailbox()
    _, ticket = await setup.create_with_link(folders=("Rechnungne",), profile=Profile.CONTRACT_NOTE)
    with pytest.raises(ConsentRefused, match="no folder or label"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.provider.find_calls("revoke") == []


async def test_folders_are_checked_under_the_locks_of_the_account(setup: ConsentSetup) -> None:
    locked: list[str] = []

    async def note_locks() -> None:
        locked.extend(setup.locks.order)

    setup.provider.folders = [Folder("f1", "Invoices")]
    setup.provider.during["list_folders"] = note_locks
    _, ticket = await setup.create_with_link(folders=("invoices",))
    await setup.finish_consent(await setup.begin_consent(ticket))
    assert locked == setup.locks.order[:2] != []


async def test_provider_that_cannot_list_folders_now_does_not_fail_the_consent(setup: ConsentSetup) -> None:
    setup.provider.errors["list_folders"] = ProviderUnavailable("503")
    _, ticket = await setup.create_with_link(folders=("invoices",))
    with capture_logs() as logged:
        connected = await setup.finish_consent(await setup.begin_consent(ticket))
    assert connected.state is ConnectionState.ACTIVE
    assert "folder_check_skipped" in {entry["event"] for entry in logged}


@pytest.mark.parametrize("error", [Rejected("400"), ItemGone("404"), AccessDenied("403")])
async def test_provider_that_refuses_to_list_folders_is_said_readably_and_the_grant_given_back(
    setup: ConsentSetup, error: Exception
) -> None:
    setup.provider.errors["list_folders"] = error
    connection, ticket = await setup.create_with_link(folders=("invoices",))
    with pytest.raises(ConsentRefused, match=r"does not show the folders of ada@contoso\.example"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.connections.rows[connection.id].state is ConnectionState.PENDING
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_folders_that_are_there_are_connected(setup: ConsentSetup) -> None:
    setup.provider.folders = [Folder("f1", "Posteingang", "inbox"), Folder("f2", "Posteingang/Rechnungen")]
    _, ticket = await setup.create_with_link(folders=("inbox/rechnungen",))
    connected = await setup.finish_consent(await setup.begin_consent(ticket))
    assert connected.folders == ("inbox/rechnungen",)


async def test_folder_that_vanished_later_does_not_keep_a_grant_from_being_renewed(setup: ConsentSetup) -> None:
    setup.provider.folders = [Folder("f1", "Invoices")]
    _, ticket = await setup.create_with_link(folders=("invoices",))
    connected = await setup.finish_consent(await setup.begin_consent(ticket))
    setup.provider.folders = []
    again = await setup.finish_consent(await setup.begin_consent(await setup.create.issue_ticket(connected.id)))
    assert again.grant_generation == 2


async def test_link_of_a_doc_source_that_is_being_deleted_has_expired(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    ticket = await setup.create.issue_ticket(connected.id)
    await setup.delete_doc_source(connected.id)
    with pytest.raises(ConsentRefused, match="expired"):
        await setup.connect.inspect_ticket("outlook", ticket)


async def test_deleted_before_the_browser_came_back_is_refused_before_the_code_is_redeemed(
    setup: ConsentSetup,
) -> None:
    connected = await setup.connect_mailbox()
    redirect = await setup.begin_consent(await setup.create.issue_ticket(connected.id))
    await setup.delete_doc_source(connected.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert len(setup.provider.exchanged) == 1


async def test_button_that_is_pressed_twice_at_once_sends_one_browser(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    first: list[object] = []

    async def press_first() -> None:
        setup.provider.during.clear()
        first.append(await setup.begin_consent(ticket))

    setup.provider.during["authorize"] = press_first
    with pytest.raises(ConsentRefused, match="used already"):
        await setup.begin_consent(ticket)
    assert len(first) == len(setup.flows.flows) == 1


async def test_account_is_locked_by_its_address_in_lower_case(setup: ConsentSetup) -> None:
    setup.provider.account = replace(setup.provider.account, address="Ada@Contoso.example")
    await setup.connect_mailbox()
    assert setup.locks.order[0] == "account:outlook:ada@contoso.example"


@pytest.mark.parametrize("other", [{"address": "renamed@contoso.example"}, {"provider_user_id": "ada@contoso.example"}])
async def test_grant_is_kept_while_another_doc_source_has_its_address_or_its_user(
    setup: ConsentSetup, other: dict[str, object]
) -> None:
    connection, ticket = await setup.create_with_link(address="asked@contoso.example")
    redirect = await setup.begin_consent(ticket)
    setup.connections.rows[OTHER_ID] = make_connection(id=OTHER_ID, tenant_id="other", **other)
    setup.provider.during["exchange"] = lambda: setup.delete_doc_source(connection.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert setup.provider.find_calls("revoke") == []


async def test_revocation_that_ends_one_grant_only_is_made_whoever_else_has_the_account(setup: ConsentSetup) -> None:
    setup.provider.traits = replace(setup.provider.traits, revocation_ends_account=False)
    await setup.connect_mailbox()
    _, ticket = await setup.create_with_link()
    with pytest.raises(ConsentRefused, match="connected for this purpose already"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.provider.find_calls("revoke") == ["revoke refresh-canary"]


async def test_provider_is_asked_for_the_mailbox_and_the_tenant_that_were_named(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link(address="ada@contoso.example", provider_tenant="contoso-id")
    await setup.finish_consent(await setup.begin_consent(ticket))
    assert setup.provider.consent_arguments == [("contoso-id", "ada@contoso.example"), ("contoso-id", None)]


@pytest.mark.parametrize(
    ("error", "logged"),
    [("access_denied", "access_denied"), ("<script>", "other"), ("x" * 50, "other"), (None, "other")],
)
async def test_what_the_browser_says_is_logged_as_an_error_code_or_not_at_all(
    setup: ConsentSetup, error: str | None, logged: str
) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    response = AuthorizationResponse(read_state(redirect), None, error)
    with capture_logs() as events, pytest.raises(ConsentRefused):
        await setup.connect.finish_consent("outlook", response, hold_cookie(redirect, redirect.cookie))
    assert [event["error"] for event in events if event["event"] == "consent_declined"] == [logged]


async def test_doc_source_that_names_an_address_accepts_no_other_mailbox(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link(address="grace@contoso.example")
    with pytest.raises(ConsentRefused, match=r"signed in as ada@contoso\.example, but this link is for grace@"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    row = setup.connections.rows[connection.id]
    assert (row.state, row.connection_reason, row.address) == (
        ConnectionState.PENDING,
        "other_mailbox",
        "grace@contoso.example",
    )
    assert "ada" not in (row.current_error or "")
    assert setup.grants.stored == {}
    assert setup.provider.calls[-1] == "revoke refresh-canary"


@pytest.mark.parametrize("asked", ["ada@contoso.example", "ADA@Contoso.example", "a.lovelace@contoso.example"])
async def test_address_is_the_mailbox_in_any_case_and_by_each_verified_name(setup: ConsentSetup, asked: str) -> None:
    _, ticket = await setup.create_with_link(address=asked)
    assert (await setup.finish_consent(await setup.begin_consent(ticket))).address == "ada@contoso.example"


async def test_address_that_the_provider_does_not_vouch_for_is_no_proof(setup: ConsentSetup) -> None:
    setup.provider.account = Account(
        "user-2", "ada@contoso.example", ("eve@evil.example",), "evil", verified_addresses=("eve@evil.example",)
    )
    connection, ticket = await setup.create_with_link(address="ada@contoso.example")
    with pytest.raises(ConsentRefused, match=r"proves only eve@evil\.example to be yours"):
        await setup.finish_consent(await setup.begin_consent(ticket))
    row = setup.connections.rows[connection.id]
    assert (row.state, row.connection_reason) == (ConnectionState.PENDING, "address_unverified")
    assert "provider_tenant" in (row.current_error or "")
    assert "eve" not in (row.current_error or "")
    assert (setup.grants.stored, setup.provider.calls[-1]) == ({}, "revoke refresh-canary")


async def test_renamed_mailbox_is_reconnected_by_its_user(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link(address="ada@contoso.example")
    connected = await setup.finish_consent(await setup.begin_consent(ticket))
    setup.provider.account = replace(setup.provider.account, address="countess@contoso.example")
    ticket = await setup.create.issue_ticket(connected.id)
    assert (await setup.finish_consent(await setup.begin_consent(ticket))).address == "countess@contoso.example"


async def test_pending_doc_source_says_why_its_consent_was_refused(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link(folders=("Rechnungne",))
    with pytest.raises(ConsentRefused):
        await setup.finish_consent(await setup.begin_consent(ticket))
    row = setup.connections.rows[connection.id]
    assert (row.connection_reason, row.current_error) == (
        "folders_missing",
        "the mailbox has no folder or label named Rechnungne",
    )


async def test_folder_that_was_corrected_is_connected_with_a_new_link(setup: ConsentSetup) -> None:
    setup.provider.folders = [Folder("f1", "Rechnungen")]
    connection, ticket = await setup.create_with_link(folders=("Rechnungne",))
    with pytest.raises(ConsentRefused):
        await setup.finish_consent(await setup.begin_consent(ticket))
    await setup.change.correct_doc_source("acme", connection.id, address=None, folders=("Rechnungen",))
    ticket = await setup.create.issue_ticket(connection.id)
    connected = await setup.finish_consent(await setup.begin_consent(ticket))
    assert (connected.state, connected.connection_reason, connected.current_error) == (
        ConnectionState.ACTIVE,
        None,
        None,
    )


async def test_what_is_changed_while_the_person_is_at_the_provider_is_not_consented_to(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link(folders=("Inbox/Invoices",))
    redirect = await setup.begin_consent(ticket)
    await setup.change.correct_doc_source("acme", connection.id, address=None, folders=())
    with pytest.raises(ConsentRefused, match="changed while you were at the provider"):
        await setup.finish_consent(redirect)
    row = setup.connections.rows[connection.id]
    assert (row.state, row.connection_reason) == (ConnectionState.PENDING, "consent_rejected")
    assert not setup.provider.exchanged


async def test_what_is_changed_during_the_exchange_is_not_consented_to_and_the_grant_given_back(
    setup: ConsentSetup,
) -> None:
    connection, ticket = await setup.create_with_link(address="ada@contoso.example")
    redirect = await setup.begin_consent(ticket)

    async def widen_start() -> None:
        row = setup.connections.rows[connection.id]
        setup.connections.rows[connection.id] = replace(row, start_at=NOW - timedelta(days=900))

    setup.provider.during["exchange"] = widen_start
    with pytest.raises(ConsentRefused, match="changed while you were at the provider"):
        await setup.finish_consent(redirect)
    assert (setup.grants.stored, setup.provider.calls[-1]) == ({}, "revoke refresh-canary")


async def test_declined_consent_is_the_reason_of_the_pending_one(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    with pytest.raises(ConsentRefused):
        await setup.finish_consent(await setup.begin_consent(ticket), code=None)
    assert setup.connections.rows[connection.id].connection_reason == "consent_declined"

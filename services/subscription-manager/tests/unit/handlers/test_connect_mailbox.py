"""From the page of a link over the provider's consent to an active doc source; what is refused on the way."""

from base64 import urlsafe_b64encode
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

import pytest
from connection_samples import NOW
from consent_setup import ConsentSetup, hold_cookie, read_state
from structlog.testing import capture_logs

from mailroom_common.errors import ProviderUnavailable, Rejected
from mailroom_common.events import SyncReason
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import ConnectionState, ConnectionStatus
from subscription_manager.handlers.connect_mailbox import AuthorizationResponse
from subscription_manager.handlers.consent_refusals import ConsentRefused


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


async def test_deleted_before_the_browser_came_back_is_refused_before_the_code_is_redeemed(
    setup: ConsentSetup,
) -> None:
    connected = await setup.connect_mailbox()
    redirect = await setup.begin_consent(await setup.create.issue_ticket(connected.id))
    await setup.delete_doc_source(connected.id)
    with pytest.raises(ConsentRefused, match="does not exist"):
        await setup.finish_consent(redirect)
    assert len(setup.provider.exchanged) == 1


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


async def test_pending_doc_source_says_why_its_consent_was_refused(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link(folders=("Rechnungne",))
    with pytest.raises(ConsentRefused):
        await setup.finish_consent(await setup.begin_consent(ticket))
    row = setup.connections.rows[connection.id]
    assert (row.connection_reason, row.current_error) == (
        "folders_missing",
        "the mailbox has no folder or label named Rechnungne",
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

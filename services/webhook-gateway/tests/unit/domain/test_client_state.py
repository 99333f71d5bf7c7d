import hmac
from datetime import timedelta

import pytest
from gateway_fakes import NOW, GatewayHarness, make_change, make_client_state, make_lifecycle_item, make_source

from mailroom_common.events import DocSourceState
from webhook_gateway.domain import client_state


@pytest.mark.parametrize("client_state", ["ds-1:wrong", "ds-1", "ds-1:", ":secret", "", None, 5, ["ds-1:secret"]])
async def test_a_client_state_that_does_not_match_is_401_and_not_written(
    gateway: GatewayHarness, client_state: object
) -> None:
    response = await gateway.post_items(make_change(client_state))

    assert response.status_code == 401
    assert response.headers["content-type"] == "application/problem+json"
    assert gateway.writer.written == []


async def test_the_client_state_of_one_source_proves_nothing_for_another(gateway: GatewayHarness) -> None:
    gateway.directory.add_sources(make_source("ds-2"))

    assert (await gateway.post_items(make_change("ds-2:secret"), make_change("ds-1:secret"))).status_code == 202
    swapped = make_source("ds-3", client_states=[make_client_state("ds-1:secret")])
    gateway.directory.add_sources(swapped)
    assert (await gateway.post_items(make_change("ds-3:secret"))).status_code == 401


async def test_digests_are_compared_in_constant_time_for_every_item_and_every_hash(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[str, str]] = []

    def counting(received: str, expected: str) -> bool:
        compared.append((received, expected))
        return hmac.compare_digest(received, expected)

    monkeypatch.setattr(client_state, "compare_digest", counting)
    hashes = [make_client_state("ds-1:secret"), make_client_state("ds-1:older")]
    gateway.directory.add_sources(make_source(client_states=hashes))
    gateway.directory.can_catch_up = True

    await gateway.post_items(make_change(), make_change("ds-1:wrong"), make_change("nobody:at-all"), make_change(None))

    # Once for the genuine item's two hashes; the three others are judged before and after the catch-up.
    assert len(compared) == 2 + 2 * (2 + 1 + 1)
    assert all(len(received) == len(expected) == 64 for received, expected in compared)
    assert not any("secret" in text for pair in compared for text in pair)


async def test_the_hash_of_a_replaced_subscription_counts_until_that_has_expired(gateway: GatewayHarness) -> None:
    gateway.directory.add_sources(
        make_source(
            client_states=[
                make_client_state("ds-1:new"),
                make_client_state("ds-1:replaced", NOW + timedelta(seconds=1)),
                make_client_state("ds-1:expired", NOW),
            ]
        )
    )

    assert (await gateway.post_items(make_change("ds-1:new"))).status_code == 202
    assert (await gateway.post_items(make_change("ds-1:replaced"))).status_code == 202
    assert (await gateway.post_items(make_change("ds-1:expired"))).status_code == 401


@pytest.mark.parametrize("state", [DocSourceState.PENDING, DocSourceState.PAUSED, DocSourceState.DELETING])
async def test_changes_of_a_source_that_is_not_active_are_202_and_dropped(
    gateway: GatewayHarness, state: DocSourceState
) -> None:
    gateway.directory.add_sources(make_source(state=state))

    response = await gateway.post_items(make_change(), make_change(changeType="deleted"))

    assert response.status_code == 202
    assert gateway.writer.written == []


@pytest.mark.parametrize("kind", ["subscriptionRemoved", "reauthorizationRequired", "missed"])
async def test_lifecycle_events_of_a_paused_source_are_written_and_its_changes_are_not(
    gateway: GatewayHarness, kind: str
) -> None:
    gateway.directory.add_sources(make_source(state=DocSourceState.PAUSED))

    response = await gateway.post_items(make_change(), make_lifecycle_item(kind))

    assert response.status_code == 202
    assert [event.raw_kind for event in gateway.writer.get_events("lifecycle-events")] == [kind]
    assert len(gateway.writer.written) == 1


async def test_lifecycle_event_of_a_paused_source_that_is_newer_than_the_directory_is_written_too(
    gateway: GatewayHarness,
) -> None:
    gateway.directory.unread.append(make_source("ds-new", state=DocSourceState.PAUSED))
    of_it = {"client_state": "ds-new:secret"}

    response = await gateway.post_items(make_change(**of_it), make_lifecycle_item("subscriptionRemoved", **of_it))

    assert response.status_code == 202
    assert [topic for topic, _ in gateway.writer.get_keys()] == ["lifecycle-events"]


@pytest.mark.parametrize("state", [DocSourceState.PENDING, DocSourceState.DELETING])
async def test_lifecycle_events_of_a_source_that_is_pending_or_being_deleted_are_202_and_dropped(
    gateway: GatewayHarness, state: DocSourceState
) -> None:
    gateway.directory.add_sources(make_source(state=state))

    assert (await gateway.post_items(make_lifecycle_item("subscriptionRemoved"))).status_code == 202
    assert gateway.writer.written == []


@pytest.mark.parametrize("state", [DocSourceState.PAUSED, DocSourceState.DELETING])
async def test_a_wrong_client_state_is_401_also_for_a_source_that_is_paused_or_being_deleted(
    gateway: GatewayHarness, state: DocSourceState
) -> None:
    gateway.directory.add_sources(make_source(state=state))

    assert (await gateway.post_items(make_change("ds-1:wrong"))).status_code == 401
    assert (await gateway.post_items(make_lifecycle_item("subscriptionRemoved", "ds-1:wrong"))).status_code == 401
    assert gateway.writer.written == []

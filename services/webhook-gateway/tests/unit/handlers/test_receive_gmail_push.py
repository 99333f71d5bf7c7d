import pytest
from gateway_fakes import (
    GMAIL_ADDRESS,
    NOW,
    GatewayHarness,
    build_gateway,
    make_gmail_push,
    make_gmail_source,
)

from mailroom_common.events import DocSourceState, Notification


@pytest.fixture
def gateway() -> GatewayHarness:
    return build_gateway(make_gmail_source())


async def test_a_push_becomes_a_notification_and_202(gateway: GatewayHarness) -> None:
    response = await gateway.post_gmail(make_gmail_push())

    assert response.status_code == 202
    topic, key, event = gateway.writer.get_single_event()
    assert (topic, key) == ("notifications", "ds-1")
    assert isinstance(event, Notification)
    assert (event.provider, event.history_id, event.tenant_id) == ("gmail", "9876543210", "acme")
    assert event.provider_event == "billing@example.com|9876543210"
    assert event.occurred_at == NOW


async def test_the_same_push_again_has_the_same_event_id(gateway: GatewayHarness) -> None:
    for history_id in (1, 1, 2):
        await gateway.post_gmail(make_gmail_push(history_id=history_id))

    first, repeat, other = [event.event_id for event in gateway.writer.get_events("notifications")]
    assert first == repeat != other


async def test_every_source_of_the_mailbox_gets_a_record_of_its_own(gateway: GatewayHarness) -> None:
    gateway.directory.add_sources(
        make_gmail_source("ds-2", tenant_id="other"),
        make_gmail_source("ds-3", address="me@example.com", aliases=[GMAIL_ADDRESS]),
        make_gmail_source("ds-4", state=DocSourceState.PAUSED),
        make_gmail_source("ds-5", address="somebody@example.com"),
    )

    assert (await gateway.post_gmail(make_gmail_push())).status_code == 202

    assert {(one.key, one.event.tenant_id) for one in gateway.writer.written} == {
        ("ds-1", "acme"),
        ("ds-2", "other"),
        ("ds-3", "acme"),
    }
    assert len({one.event.event_id for one in gateway.writer.written}) == 3


@pytest.mark.parametrize("state", [DocSourceState.PAUSED, DocSourceState.DELETING])
async def test_a_source_that_is_paused_or_being_deleted_is_202_and_dropped(
    gateway: GatewayHarness, state: DocSourceState
) -> None:
    gateway.directory.add_sources(make_gmail_source(state=state))

    assert (await gateway.post_gmail(make_gmail_push())).status_code == 202
    assert gateway.writer.written == []


async def test_a_pending_source_gets_no_record_beside_one_that_is_active(gateway: GatewayHarness) -> None:
    gateway.directory.add_sources(make_gmail_source("ds-2", tenant_id="other", state=DocSourceState.PENDING))

    assert (await gateway.post_gmail(make_gmail_push())).status_code == 202
    assert [key for _, key in gateway.writer.get_keys()] == ["ds-1"]


async def test_an_address_that_only_pending_sources_name_is_unknown(gateway: GatewayHarness) -> None:
    gateway.directory.add_sources(make_gmail_source(state=DocSourceState.PENDING))

    assert (await gateway.post_gmail(make_gmail_push())).status_code == 200
    assert len(gateway.directory.catch_up_timeouts_s) == 1
    assert gateway.writer.written == []


async def test_a_consent_that_is_newer_than_the_directory_is_found_after_a_catch_up(gateway: GatewayHarness) -> None:
    gateway.directory.add_sources(make_gmail_source(state=DocSourceState.PENDING))
    gateway.directory.unread.append(make_gmail_source())

    assert (await gateway.post_gmail(make_gmail_push())).status_code == 202
    assert [key for _, key in gateway.writer.get_keys()] == ["ds-1"]


async def test_an_unknown_address_is_200_after_the_directory_has_caught_up(gateway: GatewayHarness) -> None:
    """A repeat would not make it known, so Pub/Sub need not repeat the push."""
    response = await gateway.post_gmail(make_gmail_push("nobody@example.com"))

    assert response.status_code == 200
    assert len(gateway.directory.catch_up_timeouts_s) == 1
    assert gateway.writer.written == []


async def test_an_address_that_is_newer_than_the_directory_is_found_after_a_catch_up(gateway: GatewayHarness) -> None:
    gateway.directory.unread.append(make_gmail_source("ds-new", address="new@example.com"))

    assert (await gateway.post_gmail(make_gmail_push("new@example.com"))).status_code == 202
    assert [key for _, key in gateway.writer.get_keys()] == ["ds-new"]


async def test_an_unknown_address_is_503_while_the_directory_cannot_catch_up(gateway: GatewayHarness) -> None:
    gateway.directory.can_catch_up = False

    assert (await gateway.post_gmail(make_gmail_push("new@example.com"))).status_code == 503

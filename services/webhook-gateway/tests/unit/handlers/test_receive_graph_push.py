import pytest
from gateway_fakes import NOW, GatewayHarness, make_change, make_client_state, make_lifecycle_item, make_source

from mailroom_common.events import LifecycleEvent, LifecycleKind, Notification
from webhook_gateway.api.webhooks import GRAPH_PATHS


@pytest.mark.parametrize("path", GRAPH_PATHS)
async def test_a_genuine_change_is_written_and_answered_202(gateway: GatewayHarness, path: str) -> None:
    response = await gateway.post_items(make_change(), path=path)

    assert (response.status_code, response.content) == (202, b"")
    topic, key, event = gateway.writer.get_single_event()
    assert (topic, key) == ("notifications", "ds-1")
    assert isinstance(event, Notification)
    assert (event.tenant_id, event.doc_source_id, event.provider) == ("acme", "ds-1", "outlook")
    assert (event.subscription_id, event.change_type, event.message_id) == ("sub-1", "created", "AAMk")
    assert event.occurred_at == NOW
    assert event.provider_event == 'sub-1|AAMk|created|W/"1"'


async def test_the_same_push_again_has_the_same_event_id_and_another_change_has_another(
    gateway: GatewayHarness,
) -> None:
    changed = make_change(resourceData={"id": "AAMk", "@odata.etag": 'W/"2"'})
    for item in (make_change(), make_change(), changed):
        await gateway.post_items(item)

    first, repeat, other = [event.event_id for event in gateway.writer.get_events("notifications")]
    assert first == repeat != other


@pytest.mark.parametrize(
    ("raw_kind", "kind"),
    [
        ("reauthorizationRequired", LifecycleKind.REAUTHORIZATION_REQUIRED),
        ("subscriptionRemoved", LifecycleKind.SUBSCRIPTION_REMOVED),
        ("missed", LifecycleKind.MISSED),
        ("somethingNew", LifecycleKind.OTHER),
    ],
)
async def test_lifecycle_items_go_to_their_topic_with_their_kind(
    gateway: GatewayHarness, raw_kind: str, kind: LifecycleKind
) -> None:
    response = await gateway.post_items(make_lifecycle_item(raw_kind), path="/webhooks/outlook/lifecycle")

    assert response.status_code == 202
    topic, key, event = gateway.writer.get_single_event()
    assert (topic, key) == ("lifecycle-events", "ds-1")
    assert isinstance(event, LifecycleEvent)
    assert (event.kind, event.raw_kind, event.subscription_id) == (kind, raw_kind, "sub-1")


async def test_changes_and_lifecycle_items_may_be_mixed_in_one_post(gateway: GatewayHarness) -> None:
    gateway.directory.add_sources(make_source("ds-2"))

    response = await gateway.post_items(
        make_change(), make_lifecycle_item("missed"), make_change("ds-2:secret"), path="/webhooks/outlook"
    )

    assert response.status_code == 202
    assert gateway.writer.get_keys() == [
        ("notifications", "ds-1"),
        ("lifecycle-events", "ds-1"),
        ("notifications", "ds-2"),
    ]


async def test_all_records_of_a_post_are_written_at_once(gateway: GatewayHarness) -> None:
    await gateway.post_items(*(make_change() for _ in range(20)))

    assert len(gateway.writer.written) == 20
    assert len(gateway.writer.timeouts_s) == 1


async def test_genuine_items_of_a_mixed_post_are_written_all_the_same(gateway: GatewayHarness) -> None:
    response = await gateway.post_items(make_change(), make_change("ds-1:wrong"), make_lifecycle_item("missed"))

    assert response.status_code == 401
    assert [topic for topic, _ in gateway.writer.get_keys()] == ["notifications", "lifecycle-events"]


async def test_a_source_that_is_newer_than_the_directory_is_found_after_a_catch_up(gateway: GatewayHarness) -> None:
    gateway.directory.unread.append(make_source("ds-new"))

    response = await gateway.post_items(make_change("ds-new:secret"))

    assert response.status_code == 202
    assert [key for _, key in gateway.writer.get_keys()] == ["ds-new"]


async def test_a_hash_that_is_newer_than_the_directory_is_found_after_a_catch_up(gateway: GatewayHarness) -> None:
    gateway.directory.unread.append(make_source(version=2, client_states=[make_client_state("ds-1:renewed")]))

    assert (await gateway.post_items(make_change("ds-1:renewed"))).status_code == 202


async def test_what_is_still_unexplained_after_the_catch_up_is_401(gateway: GatewayHarness) -> None:
    response = await gateway.post_items(make_change("nobody:secret"))

    assert response.status_code == 401
    assert len(gateway.directory.catch_up_timeouts_s) == 1


async def test_many_unexplained_items_of_a_post_cause_one_catch_up(gateway: GatewayHarness) -> None:
    await gateway.post_items(*(make_change(f"nobody-{number}:x") for number in range(20)))

    assert len(gateway.directory.catch_up_timeouts_s) == 1


async def test_a_push_that_the_directory_explains_causes_no_catch_up(gateway: GatewayHarness) -> None:
    await gateway.post_items(make_change())

    assert gateway.directory.catch_up_timeouts_s == []


async def test_a_directory_that_cannot_catch_up_is_503_so_that_the_provider_repeats_the_push(
    gateway: GatewayHarness,
) -> None:
    """Nobody can say whether the item is forged, so it is neither accepted nor reported as a forgery."""
    gateway.directory.can_catch_up = False

    response = await gateway.post_items(make_change(), make_change("nobody:secret"))

    assert response.status_code == 503
    assert len(gateway.writer.written) == 1  # the genuine one did not wait for it


async def test_a_failed_write_is_503_also_beside_a_mismatch(gateway: GatewayHarness) -> None:
    gateway.writer.is_unavailable = True

    assert (await gateway.post_items(make_change(), make_change("ds-1:wrong"))).status_code == 503

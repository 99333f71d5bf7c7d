import pytest
from gateway_fakes import GatewayHarness, make_change

from webhook_gateway.api import graph_body


@pytest.mark.parametrize(
    "resource",
    [
        "Users/u/Messages/{id}",
        "users/u@t/messages/{id}",
        "/users/u/mailFolders/inbox/messages/{id}",
        "Users('u')/Messages('{id}')",
    ],
)
async def test_without_an_id_in_resource_data_the_message_id_is_the_end_of_resource(
    gateway: GatewayHarness, resource: str
) -> None:
    for resource_data in (None, {}, {"id": None}, {"id": ""}):
        for message_id in ("AAMk-1=", "AAMk-2="):
            item = make_change(resource=resource.format(id=message_id), resourceData=resource_data)
            assert (await gateway.post_items(item)).status_code == 202

    events = gateway.writer.get_events("notifications")
    assert [event.message_id for event in events] == ["AAMk-1=", "AAMk-2="] * 4
    assert len({event.event_id for event in events}) == 2


@pytest.mark.parametrize("resource", [None, 5, "", "NA", "Users/u/Messages", "Users/u/Messages/", "Users/u/Events/E1"])
async def test_a_resource_that_names_no_message_gives_no_message_id(gateway: GatewayHarness, resource: object) -> None:
    assert (await gateway.post_items(make_change(resource=resource, resourceData=None))).status_code == 202
    assert [event.message_id for event in gateway.writer.get_events("notifications")] == [None]


async def test_an_empty_list_is_accepted(gateway: GatewayHarness) -> None:
    assert (await gateway.post_items()).status_code == 202


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[]", b"{}", b'{"value": {}}', b'{"value": [1]}', b'{"value": null}', b"\xff"]
)
async def test_a_malformed_body_is_400(gateway: GatewayHarness, body: bytes) -> None:
    response = await gateway.http.post("/webhooks/outlook", content=body)

    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_body_of_more_items_than_a_genuine_one_can_hold_is_413(
    gateway: GatewayHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`{}` has two bytes: a third of a million of them fit into a body, and each would be verified."""
    monkeypatch.setattr(graph_body, "MAX_ITEMS", 10)
    for count, status in ((10, 401), (11, 413)):
        assert (await gateway.http.post("/webhooks/outlook", json={"value": [{}] * count})).status_code == status


async def test_unknown_members_are_ignored(gateway: GatewayHarness) -> None:
    item = make_change(subscriptionExpirationDateTime="2026-12-01T00:00:00.0000000+05:30", encryptedContent={"a": 1})

    assert (await gateway.post_items(item, path="/webhooks/outlook")).status_code == 202

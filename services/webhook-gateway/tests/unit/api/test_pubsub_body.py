import base64

import pytest
from gateway_fakes import GMAIL_ADDRESS, GatewayHarness, build_gateway, make_gmail_push, make_gmail_source


@pytest.fixture
def gateway() -> GatewayHarness:
    return build_gateway(make_gmail_source())


@pytest.mark.parametrize(
    "body",
    [
        make_gmail_push(),
        make_gmail_push(history_id="9876543210"),
        make_gmail_push(is_url_safe=True),
        {"emailAddress": GMAIL_ADDRESS, "historyId": 9876543210},
        {"emailAddress": GMAIL_ADDRESS, "historyId": "9876543210"},
    ],
)
async def test_wrapped_and_unwrapped_with_number_or_text_are_the_same(
    gateway: GatewayHarness, body: dict[str, object]
) -> None:
    assert (await gateway.post_gmail(body)).status_code == 202
    assert [event.history_id for event in gateway.writer.get_events("notifications")] == ["9876543210"]


@pytest.mark.parametrize(
    "body",
    [
        {"message": {}},
        {"message": {"data": "%%%"}},
        {"message": {"data": base64.b64encode(b"no json").decode()}},
        {"message": {"data": base64.b64encode(b"[]").decode()}},
        {"message": "text"},
        {"something": "else"},
        {"emailAddress": GMAIL_ADDRESS},
        {"emailAddress": GMAIL_ADDRESS, "historyId": True},
        {"emailAddress": GMAIL_ADDRESS, "historyId": "-5"},
        {"emailAddress": "", "historyId": 5},
        {"emailAddress": 7, "historyId": 5},
        [1],
    ],
)
async def test_a_malformed_body_is_400(gateway: GatewayHarness, body: object) -> None:
    assert (await gateway.post_gmail(body)).status_code == 400
    assert gateway.writer.written == []

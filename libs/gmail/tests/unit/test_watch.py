from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson
import pytest

from mailroom_common.budgets.window import UnitLimit
from mailroom_common.errors import Rejected
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox, SubscriptionRequest
from mailroom_gmail.watch import GmailWatch

BASE = "https://gmail.example"
TOPIC = "projects/p/topics/mail"


@pytest.fixture
def watches(http: httpx.AsyncClient, tokens: Any) -> GmailWatch:
    return GmailWatch(http, BaseURL(BASE), tokens, Quota(slots=8, mailbox_limit=UnitLimit(6000)), topic=TOPIC)


def ok(payload: dict[str, object]) -> httpx.Response:
    return httpx.Response(200, json=payload)


async def watch(watches: GmailWatch, mailbox: Mailbox) -> Any:
    return await watches.create_subscription(
        mailbox,
        SubscriptionRequest(
            client_state="x", notification_url="https://m/", lifecycle_url="https://m/", expires_at=datetime.now(UTC)
        ),
    )


@pytest.mark.parametrize("as_numbers", [True, False])
async def test_watch_expires_in_milliseconds_given_as_text_or_number(
    watches: GmailWatch, wire: Any, gmail: Mailbox, as_numbers: bool
) -> None:
    numbers: dict[str, object] = {"historyId": 12, "expiration": 1764892800000}
    wire.plays(ok(numbers if as_numbers else {name: str(value) for name, value in numbers.items()}))
    made = await watch(watches, gmail)
    assert (made.subscription_id, made.history_id) == (TOPIC, "12")
    assert made.expires_at == datetime.fromtimestamp(1764892800, UTC)
    assert orjson.loads(wire.requests[0].content) == {"topicName": TOPIC}


async def test_watch_of_another_topic_is_stopped_first(watches: GmailWatch, wire: Any, gmail: Mailbox) -> None:
    conflict = {"error": {"code": 400, "message": "Only one user push notification client allowed"}}
    wire.plays(
        httpx.Response(400, json=conflict), httpx.Response(204), ok({"historyId": "1", "expiration": "1764892800000"})
    )
    await watch(watches, gmail)
    assert [request.url.path.rsplit("/", 1)[-1] for request in wire.requests] == ["watch", "stop", "watch"]


async def test_watch_without_a_topic_names_the_setting(http: httpx.AsyncClient, tokens: Any, gmail: Mailbox) -> None:
    watches = GmailWatch(http, BaseURL(BASE), tokens, Quota(slots=8), topic=None)
    with pytest.raises(Rejected, match="MAILROOM_PUBSUB_TOPIC"):
        await watch(watches, gmail)


@pytest.mark.parametrize("expiration", [None, "", "soon"])
async def test_watch_without_an_expiration_counts_as_seven_days(
    watches: GmailWatch, wire: Any, gmail: Mailbox, expiration: str | None
) -> None:
    answer: dict[str, object] = {"historyId": "12"}
    wire.plays(ok(answer if expiration is None else answer | {"expiration": expiration}))
    asked_at = datetime.now(UTC)
    made = await watch(watches, gmail)
    assert asked_at + timedelta(days=7) <= made.expires_at <= datetime.now(UTC) + timedelta(days=7)


async def test_whether_a_watch_exists_is_not_made_up(watches: GmailWatch, wire: Any, gmail: Mailbox) -> None:
    assert watches.traits.push is not None
    assert not watches.traits.push.can_look_up
    with pytest.raises(Rejected, match="no call"):
        await watches.get_subscription(gmail, TOPIC)
    assert wire.requests == []

"""The body of a POST of Microsoft Graph: `{"value": [item, …]}`, changes and lifecycle events mixed.

Source: Microsoft Graph, "Receive change notifications through webhooks" and "Reduce missing subscriptions" (2026-03).
"""

import re

import orjson

from mailroom_common.errors import Rejected
from webhook_gateway.api.http import TooLarge
from webhook_gateway.domain.pushes import GraphItem

# A genuine item has more than 200 bytes, so that a body of 1 MiB holds fewer. A third of a million `{}` fit as well,
# and judging them would hold up every other push for seconds.
MOST_ITEMS = 5_000

# `Users/{user}/Messages/{id}` as a rule; Graph also writes `users/{user}@{tenant}/messages/{id}` and OData keys.
_MESSAGE_IN_RESOURCE = re.compile(r"/messages(?:/([^/()]+)|\('([^/()]+)'\))$", re.IGNORECASE)


def items_in(body: bytes) -> list[GraphItem]:
    """Members that we do not know are ignored.

    Raises:
        Rejected: it is no such body.
        TooLarge: it has more than MOST_ITEMS.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Rejected("the body is not JSON") from None
    items = document.get("value") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise Rejected("the body has no list `value`")
    if len(items) > MOST_ITEMS:
        raise TooLarge
    return [_item(item) for item in items]


def _item(item: object) -> GraphItem:
    if not isinstance(item, dict):
        raise Rejected("an item of `value` is not an object")
    resource_data = item.get("resourceData")
    if not isinstance(resource_data, dict):
        resource_data = {}
    return GraphItem(
        _text(item.get("clientState")),
        _text(item.get("subscriptionId")),
        _text(item.get("lifecycleEvent")),
        _text(item.get("changeType")),
        _text(resource_data.get("id")) or _message_id_in(item.get("resource")),
        _text(resource_data.get("@odata.etag")),
    )


def _message_id_in(resource: object) -> str | None:
    """For items without `resourceData.id`: without any id, two mails of one subscription would be one event."""
    match = _MESSAGE_IN_RESOURCE.search(resource) if isinstance(resource, str) else None
    return None if match is None else match[1] or match[2]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

"""The body of a POST of Microsoft Graph: `{"value": [item, …]}`, changes and lifecycle events mixed.

Source: Microsoft Graph, "Receive change notifications through webhooks" and "Reduce missing subscriptions" (2026-03).
"""

import orjson

from mailroom_common.errors import Rejected
from webhook_gateway.domain.pushes import GraphItem


def items_in(body: bytes) -> list[GraphItem]:
    """Raises Rejected when it is no such body. Members that we do not know are ignored."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Rejected("the body is not JSON") from None
    items = document.get("value") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise Rejected("the body has no list `value`")
    return [_item(item) for item in items]


def _item(item: object) -> GraphItem:
    if not isinstance(item, dict):
        raise Rejected("an item of `value` is not an object")
    resource_data = item.get("resourceData")
    if not isinstance(resource_data, dict):
        resource_data = {}
    # The id is taken from resourceData, not from the resource's path, which is spelt in several ways.
    return GraphItem(
        _text(item.get("clientState")),
        _text(item.get("subscriptionId")),
        _text(item.get("lifecycleEvent")),
        _text(item.get("changeType")),
        _text(resource_data.get("id")),
        _text(resource_data.get("@odata.etag")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

"""The body of a POST of Microsoft Graph: `{"value": [item, …]}`, changes and lifecycle events mixed.

Source: Microsoft Graph, "Receive change notifications through webhooks" and "Reduce missing subscriptions" (2026-03).
"""

import re

import orjson

from mailroom_common.errors import Rejected
from webhook_gateway.api.http import BodyTooLarge
from webhook_gateway.domain.pushes import GraphItem

# A genuine item has more than 200 bytes, so a body of 1 MiB holds fewer than this. A third of a million `{}` fit into
# one as well, and verifying them would delay every other push for seconds.
MAX_ITEMS = 5_000

# `Users/{user}/Messages/{id}` as a rule; Graph also writes `users/{user}@{tenant}/messages/{id}` and OData keys.
_MESSAGE_IN_RESOURCE = re.compile(r"/messages(?:/([^/()]+)|\('([^/()]+)'\))$", re.IGNORECASE)


def parse_graph_body(body: bytes) -> list[GraphItem]:
    """Unknown members are ignored.

    Raises:
        Rejected: the body has another shape.
        BodyTooLarge: it has more than MAX_ITEMS.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Rejected("the body is not JSON") from None
    items = document.get("value") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise Rejected("the body has no list `value`")
    if len(items) > MAX_ITEMS:
        raise BodyTooLarge
    return [_parse_item(item) for item in items]


def _parse_item(item: object) -> GraphItem:
    if not isinstance(item, dict):
        raise Rejected("an item of `value` is not an object")
    resource_data = item.get("resourceData")
    if not isinstance(resource_data, dict):
        resource_data = {}
    return GraphItem(
        _get_text(item.get("clientState")),
        _get_text(item.get("subscriptionId")),
        _get_text(item.get("lifecycleEvent")),
        _get_text(item.get("changeType")),
        _get_text(resource_data.get("id")) or _find_message_id(item.get("resource")),
        _get_text(resource_data.get("@odata.etag")),
    )


def _find_message_id(resource: object) -> str | None:
    """For items without `resourceData.id`: without any id, the events of two mails would share one `event_id`."""
    match = _MESSAGE_IN_RESOURCE.search(resource) if isinstance(resource, str) else None
    return None if match is None else match[1] or match[2]


def _get_text(value: object) -> str | None:
    return value if isinstance(value, str) else None

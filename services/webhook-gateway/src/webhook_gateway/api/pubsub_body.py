"""Body of a Pub/Sub push (wrapped in an envelope, or Gmail's notification as it is) and data of a pulled message.

Source: Google Cloud, "Push subscriptions" and "Payload unwrapping"; Gmail API, "Push notifications".
"""

import base64
import binascii

import orjson

from mailroom_common.errors import Rejected
from webhook_gateway.domain.pushes import GmailPush


def parse_pubsub_body(body: bytes, subscription_header: str | None) -> GmailPush:
    """The push; in the unwrapped form its subscription is in a header.

    Raises:
        Rejected: the body has neither form.
    """
    document = _parse_object(body)
    if "message" in document:
        message = document["message"]
        if not isinstance(message, dict):
            raise Rejected("`message` is not an object")
        subscription = document.get("subscription")
        return _build_push(_decode_data(message), subscription if isinstance(subscription, str) else None)
    return _build_push(document, subscription_header)


def parse_pubsub_data(data: bytes, subscription: str) -> GmailPush:
    """Gmail's notification in a message that was pulled from `subscription`: gRPC carries it without base64.

    Raises:
        Rejected: the data is no notification of Gmail.
    """
    return _build_push(_parse_object(data), subscription)


def _parse_object(text: bytes) -> dict[str, object]:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise Rejected("the body is not JSON") from None
    if not isinstance(document, dict):
        raise Rejected("the body is not an object")
    return document


def _decode_data(message: dict[str, object]) -> dict[str, object]:
    data = message.get("data")
    if not isinstance(data, str):
        raise Rejected("the message has no data")
    # Pub/Sub documents base64 and Gmail base64url: both are accepted, with or without padding.
    plain = data.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return _parse_object(base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except (binascii.Error, ValueError):
        raise Rejected("the message's data is not base64") from None


def _build_push(document: dict[str, object], subscription: str | None) -> GmailPush:
    address, history_id = document.get("emailAddress"), document.get("historyId")
    if not isinstance(address, str) or not address.strip():
        raise Rejected("there is no emailAddress")
    # Gmail sends a number; its documentation shows text.
    if isinstance(history_id, bool) or not isinstance(history_id, int | str) or not str(history_id).isdecimal():
        raise Rejected("there is no historyId")
    return GmailPush(address, str(history_id), subscription)

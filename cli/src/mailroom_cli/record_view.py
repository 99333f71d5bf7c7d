"""Records as commands show them: decoded, and with nothing that does not belong into a terminal or a log."""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mailroom_common.errors import NotDecodableYet, Undecodable
from mailroom_common.events import Event
from mailroom_common.kafka.codec import Codec, wire_name
from mailroom_common.kafka.headers import decode_headers
from mailroom_common.topics import Topic

# Digests of secrets: never shown.
_SECRET_FIELDS = frozenset({"sha256"})
# What mails are about, and who wrote them: shown on request only, since the output of a job is a log.
_CONTENT_FIELDS = frozenset(
    {
        "address",
        "aliases",
        "archive_path",
        "categories",
        "extraction",
        "filename",
        "folder",
        "folders",
        "from",
        "from_address",
        "from_domain",
        "from_name",
        "internet_message_id",
        "previous_folder",
        "provider_event",
        "provider_user_id",
        "sender_allow",
        "sender_deny",
        "subject",
        "trades",
    }
)
MASK = "***"
_LAST_TIME_MS = 253_402_300_799_000  # the last second of the year 9999


def view_record(raw: Any, topic: Topic, codec: Codec, *, shows_contents: bool = False) -> dict[str, Any]:
    """`raw` is aiokafka's record, which has no types. One that cannot be decoded says why in place of its event."""
    view: dict[str, Any] = {
        "topic": raw.topic,
        "partition": raw.partition,
        "offset": raw.offset,
        "timestamp": read_time(raw).isoformat(timespec="milliseconds"),
        "key": (raw.key or b"").decode(errors="replace"),
        "headers": decode_headers(raw.headers),
    }
    if raw.value is None:
        return {**view, "event": None}
    if topic.event is None:
        return {**view, "event": raw.value.decode(errors="replace")}
    try:
        event = codec.decode(topic, raw.value)
    except (Undecodable, NotDecodableYet) as error:
        return {**view, "unreadable": str(error), "value_bytes": len(raw.value)}
    return {**view, "event": view_event(event, shows_contents=shows_contents)}


def read_time(raw: Any) -> datetime:
    """When a record was written, as its writer says; what is no time is shown as the nearest one that is."""
    return datetime.fromtimestamp(min(max(raw.timestamp, 0), _LAST_TIME_MS) / 1000, UTC)


def view_event(event: Event, *, shows_contents: bool = False) -> dict[str, Any]:
    hidden = _SECRET_FIELDS if shows_contents else _SECRET_FIELDS | _CONTENT_FIELDS
    shown = _mask(dataclasses.asdict(event), hidden)
    return dict(shown)


def _mask(value: Any, hidden: frozenset[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            wire_name(name): MASK if wire_name(name) in hidden and inner else _mask(inner, hidden)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_mask(inner, hidden) for inner in value]
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return value

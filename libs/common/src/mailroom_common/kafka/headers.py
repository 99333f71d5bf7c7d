"""The headers of a record (kafka.md 3.6): CloudEvents in binary mode, trace context, and our own few.

Headers have ids and never contents. They are most of a small record's size, so there are no more than these.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache

from mailroom_common.events import Event
from mailroom_common.kafka.codec import EventKind
from mailroom_common.tracing import get_or_create_traceparent

RESOLVES = "resolves"  # on a tombstone of sync-requests: the highest offset of the requests that it resolves
VERSION = "version"  # on a tombstone of doc-sources, which has no value to carry it
TRACEPARENT = "traceparent"
REPLAY_ID = "mr-replay-id"  # on a record that a replay sends again; of `attachments`: the document is read again
REPLAY_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

RawHeaders = list[tuple[str, bytes]]

_SPEC = ("ce_specversion", b"1.0")
_CONTENT_TYPE = ("content-type", b"application/avro")


def build_event_headers(event: Event, kind: EventKind, source: bytes, trace: str | None = None) -> RawHeaders:
    """`source` is the writer as CloudEvents names it, e.g. `/mailroom/webhook-gateway`; `trace` None means that
    of the work in hand."""
    return [
        *_build_constant_headers(kind.ce_type, kind.schema_urn, source),
        ("ce_id", event.event_id.encode()),
        ("ce_time", _format_time(event.occurred_at)),
        ("ce_subject", event.doc_source_id.encode()),
        (TRACEPARENT, (trace or get_or_create_traceparent()).encode()),
    ]


@lru_cache(maxsize=64)
def _build_constant_headers(ce_type: bytes, schema_urn: bytes, source: bytes) -> RawHeaders:
    return [
        _SPEC,
        _CONTENT_TYPE,
        ("ce_type", ce_type),
        ("ce_dataschema", schema_urn),
        ("ce_source", source),
    ]


@lru_cache(maxsize=8)  # the events of one push or transaction happened at one time
def _format_time(moment: datetime) -> bytes:
    return moment.isoformat(timespec="milliseconds").encode()


def build_tombstone_headers(source: bytes) -> RawHeaders:
    return [("ce_source", source), (TRACEPARENT, get_or_create_traceparent().encode())]


def override_headers(headers: RawHeaders, own: Mapping[str, str]) -> RawHeaders:
    """`headers` with `own` added; a header of the same name is replaced, such as a stored trace."""
    if not own:
        return headers
    return [header for header in headers if header[0] not in own] + [
        (name, text.encode()) for name, text in own.items()
    ]


def decode_headers(headers: Iterable[tuple[str, bytes | None]]) -> dict[str, str]:
    """As text, for handlers; bytes that are not UTF-8 become replacement characters (the record keeps the original)."""
    return {name: (value or b"").decode("utf-8", errors="replace") for name, value in headers}

"""The headers of a record (kafka.md 3.6): CloudEvents in binary mode, trace context, and our own few.

Headers hold ids and never contents. They are most of a small record's size, so there are no more of them than these.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache

from mailroom_common.events import Event
from mailroom_common.kafka.codec import EventKind
from mailroom_common.tracing import current_traceparent

RESOLVES = "resolves"  # on a tombstone of sync-requests: the highest offset that it settles
VERSION = "version"  # on a tombstone of doc-sources, which has no value to carry it
TRACEPARENT = "traceparent"

RawHeaders = list[tuple[str, bytes]]

_SPEC = ("ce_specversion", b"1.0")
_CONTENT_TYPE = ("content-type", b"application/avro")


def build_event_headers(event: Event, kind: EventKind, source: bytes, trace: str | None = None) -> RawHeaders:
    """`source` is the writer as CloudEvents names it, e.g. `/mailroom/webhook-gateway`; `trace` is None for that of
    the work in hand."""
    return [
        *_same_for_all(kind.ce_type, kind.schema_urn, source),
        ("ce_id", event.event_id.encode()),
        ("ce_time", _time(event.occurred_at)),
        ("ce_subject", event.doc_source_id.encode()),
        (TRACEPARENT, (trace or current_traceparent()).encode()),
    ]


@lru_cache(maxsize=64)
def _same_for_all(ce_type: bytes, schema_urn: bytes, source: bytes) -> RawHeaders:
    return [
        _SPEC,
        _CONTENT_TYPE,
        ("ce_type", ce_type),
        ("ce_dataschema", schema_urn),
        ("ce_source", source),
    ]


@lru_cache(maxsize=8)  # the events of one push or transaction happened at one time
def _time(moment: datetime) -> bytes:
    return moment.isoformat(timespec="milliseconds").encode()


def build_tombstone_headers(source: bytes) -> RawHeaders:
    return [("ce_source", source), (TRACEPARENT, current_traceparent().encode())]


def override_headers(headers: RawHeaders, own: Mapping[str, str]) -> RawHeaders:
    """Ours on top; one of the same name replaces, so that an outbox can hand on the trace that it stored."""
    if not own:
        return headers
    return [header for header in headers if header[0] not in own] + [
        (name, text.encode()) for name, text in own.items()
    ]


def decode_headers(headers: Iterable[tuple[str, bytes | None]]) -> dict[str, str]:
    """For handlers; what is not UTF-8 is shown with replacement characters, the original stays in the record."""
    return {name: (value or b"").decode("utf-8", errors="replace") for name, value in headers}

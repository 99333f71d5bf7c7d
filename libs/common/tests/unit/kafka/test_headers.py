from datetime import UTC, datetime

from mailroom_common.events import Notification
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import build_event_headers, decode_headers, override_headers
from mailroom_common.kafka.schema_files import load_packaged_schemas
from mailroom_common.tracing import bind_traceparent, get_or_create_traceparent

NOTIFICATION = Notification(
    event_id="e-1",
    occurred_at=datetime(2026, 11, 28, 1, 2, 3, 4000, UTC),
    tenant_id="acme",
    doc_source_id="ds-1",
    provider="outlook",
    provider_event="sub|item|etag",
)


def headers_of_it() -> dict[str, str]:
    return decode_headers(
        build_event_headers(NOTIFICATION, Codec().find_kind(NOTIFICATION), b"/mailroom/webhook-gateway")
    )


def test_headers_are_cloud_events_in_binary_mode() -> None:
    headers = headers_of_it()

    assert headers["ce_specversion"] == "1.0"
    assert headers["ce_id"] == "e-1"
    assert headers["ce_source"] == "/mailroom/webhook-gateway"
    assert headers["ce_type"] == "mailroom.notification.v1"
    assert headers["ce_time"] == "2026-11-28T01:02:03.004+00:00"
    assert headers["ce_subject"] == "ds-1"
    assert headers["content-type"] == "application/avro"
    fingerprint = load_packaged_schemas()["notifications"][-1].fingerprint.hex()
    assert headers["ce_dataschema"] == f"urn:avro:crc64:{fingerprint}"


def test_headers_stay_under_a_kilobyte() -> None:
    assert sum(len(name) + len(text) for name, text in headers_of_it().items()) < 1_000


def test_a_record_goes_on_with_the_trace_of_the_one_that_caused_it() -> None:
    received = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    with bind_traceparent(received):
        assert headers_of_it()["traceparent"] == received
    assert headers_of_it()["traceparent"] != received


def test_what_is_no_traceparent_begins_a_trace() -> None:
    with bind_traceparent("<script>"):
        first = get_or_create_traceparent()
        assert first == get_or_create_traceparent()  # one for all that the work writes

    assert first.startswith("00-")
    assert len(first) == 55


def test_own_headers_replace() -> None:
    assert override_headers([("a", b"1"), ("b", b"2")], {"a": "3"}) == [("b", b"2"), ("a", b"3")]

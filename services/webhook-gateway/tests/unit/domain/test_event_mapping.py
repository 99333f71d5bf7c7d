from datetime import UTC, datetime, timedelta

from mailroom_common.events import Access, DocSource, DocSourceState, Profile
from webhook_gateway.domain.event_mapping import build_lifecycle_event
from webhook_gateway.domain.pushes import GraphItem

AT = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
SOURCE = DocSource(
    event_id="e",
    occurred_at=AT,
    tenant_id="acme",
    doc_source_id="ds-1",
    version=1,
    provider="outlook",
    profile=Profile.INVOICE,
    access=Access.DELEGATED,
    state=DocSourceState.ACTIVE,
)
MISSED = GraphItem("ds-1:secret", "sub-1", lifecycle_event="missed")


def test_a_repeated_lifecycle_post_has_the_same_event_id() -> None:
    first = build_lifecycle_event(MISSED, SOURCE, AT)
    repeat = build_lifecycle_event(MISSED, SOURCE, AT + timedelta(seconds=30))

    assert first.event_id == repeat.event_id


def test_a_second_missed_later_is_a_new_event() -> None:
    """The two look the same, and a reader that dropped the second as a duplicate would leave mail unfetched."""
    first = build_lifecycle_event(MISSED, SOURCE, AT)
    second = build_lifecycle_event(MISSED, SOURCE, AT + timedelta(hours=1))

    assert first.event_id != second.event_id

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mailroom_common.events import Access, DocSource, DocSourceState, Profile
from webhook_gateway.domain.event_mapping import build_change_notification, build_lifecycle_event
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


def test_the_same_lifecycle_event_of_another_source_subscription_or_kind_has_another_event_id() -> None:
    others = [
        build_lifecycle_event(MISSED, replace(SOURCE, doc_source_id="ds-2"), AT),
        build_lifecycle_event(MISSED._replace(subscription_id="sub-2"), SOURCE, AT),
        build_lifecycle_event(MISSED._replace(lifecycle_event="subscriptionRemoved"), SOURCE, AT),
    ]

    assert len({event.event_id for event in [build_lifecycle_event(MISSED, SOURCE, AT), *others]}) == 4


def test_a_change_is_identified_by_source_subscription_message_kind_and_etag() -> None:
    item = GraphItem("ds-1:secret", "sub-1", change_type="updated", message_id="m-1", etag="1")
    other_items = [
        item._replace(subscription_id="sub-2"),
        item._replace(message_id="m-2"),
        item._replace(change_type="deleted"),
        item._replace(etag="2"),
    ]

    events = [build_change_notification(one, SOURCE, AT) for one in (item, *other_items)]
    events.append(build_change_notification(item, replace(SOURCE, doc_source_id="ds-2"), AT))
    assert len({event.event_id for event in events}) == 6
    assert build_change_notification(item, SOURCE, AT + timedelta(hours=3)).event_id == events[0].event_id

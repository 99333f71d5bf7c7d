"""Builds the events that are written to Kafka for a push; a repeated push gives events with the same `event_id`."""

from datetime import datetime

from mailroom_common.events import DocSource, LifecycleEvent, LifecycleKind, Notification, derive_event_id
from webhook_gateway.domain.pushes import GmailPush, GraphItem

_LIFECYCLE_KINDS = {
    "reauthorizationRequired": LifecycleKind.REAUTHORIZATION_REQUIRED,
    "subscriptionRemoved": LifecycleKind.SUBSCRIPTION_REMOVED,
    "missed": LifecycleKind.MISSED,
}
# A lifecycle item has no id: a second `missed` looks like the first. Within the same period of this length it counts as
# a repeat of the POST, later as a new event, so that no reader drops it as a duplicate.
_LIFECYCLE_PERIOD_S = 600


def build_change_notification(item: GraphItem, source: DocSource, received_at: datetime) -> Notification:
    # Graph often leaves out the `id` of a notification, so the event is identified by what changed.
    provider_event = "|".join(
        (item.subscription_id or "", item.message_id or "", item.change_type or "", item.etag or "")
    )
    return Notification(
        event_id=derive_event_id("notification", source.doc_source_id, provider_event),
        occurred_at=received_at,
        tenant_id=source.tenant_id,
        doc_source_id=source.doc_source_id,
        provider="outlook",
        subscription_id=item.subscription_id,
        change_type=item.change_type,
        message_id=item.message_id,
        provider_event=provider_event,
    )


def build_lifecycle_event(item: GraphItem, source: DocSource, received_at: datetime) -> LifecycleEvent:
    raw_kind = item.lifecycle_event or ""
    period = int(received_at.timestamp()) // _LIFECYCLE_PERIOD_S
    return LifecycleEvent(
        event_id=derive_event_id("lifecycle", source.doc_source_id, item.subscription_id, raw_kind, period),
        occurred_at=received_at,
        tenant_id=source.tenant_id,
        doc_source_id=source.doc_source_id,
        provider="outlook",
        subscription_id=item.subscription_id or "",
        kind=_LIFECYCLE_KINDS.get(raw_kind, LifecycleKind.OTHER),
        raw_kind=raw_kind,
    )


def build_gmail_notification(push: GmailPush, source: DocSource, received_at: datetime) -> Notification:
    provider_event = f"{push.address}|{push.history_id}"
    return Notification(
        event_id=derive_event_id("notification", source.doc_source_id, provider_event),
        occurred_at=received_at,
        tenant_id=source.tenant_id,
        doc_source_id=source.doc_source_id,
        provider="gmail",
        subscription_id=source.subscription_id,
        history_id=push.history_id,
        provider_event=provider_event,
    )

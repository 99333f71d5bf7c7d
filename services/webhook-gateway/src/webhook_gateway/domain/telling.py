"""What is written to Kafka for a push. A repeat of the push gives the same `event_id`."""

from datetime import datetime

from mailroom_common.events import DocSource, LifecycleEvent, LifecycleKind, Notification, derive_event_id
from webhook_gateway.domain.pushes import GmailPush, GraphItem

_LIFECYCLE_KINDS = {
    "reauthorizationRequired": LifecycleKind.REAUTHORIZATION_REQUIRED,
    "subscriptionRemoved": LifecycleKind.SUBSCRIPTION_REMOVED,
    "missed": LifecycleKind.MISSED,
}
# A lifecycle item has no identity of its own: a second `missed` looks like the first. Within this time it is taken for
# the repeat of a POST, after it for news, so that no reader drops it as known.
_LIFECYCLE_REPEAT_S = 600


def notification_of_change(item: GraphItem, source: DocSource, at: datetime) -> Notification:
    # Not the item's own `id`, which is often absent.
    provider_event = "|".join(
        (item.subscription_id or "", item.message_id or "", item.change_type or "", item.etag or "")
    )
    return Notification(
        event_id=derive_event_id("notification", source.doc_source_id, provider_event),
        occurred_at=at,
        tenant_id=source.tenant_id,
        doc_source_id=source.doc_source_id,
        provider="outlook",
        subscription_id=item.subscription_id,
        change_type=item.change_type,
        message_id=item.message_id,
        provider_event=provider_event,
    )


def lifecycle_event_of(item: GraphItem, source: DocSource, at: datetime) -> LifecycleEvent:
    raw_kind = item.lifecycle_event or ""
    period = int(at.timestamp()) // _LIFECYCLE_REPEAT_S
    return LifecycleEvent(
        event_id=derive_event_id("lifecycle", source.doc_source_id, item.subscription_id, raw_kind, period),
        occurred_at=at,
        tenant_id=source.tenant_id,
        doc_source_id=source.doc_source_id,
        provider="outlook",
        subscription_id=item.subscription_id or "",
        kind=_LIFECYCLE_KINDS.get(raw_kind, LifecycleKind.OTHER),
        raw_kind=raw_kind,
    )


def notification_of_gmail(push: GmailPush, source: DocSource, at: datetime) -> Notification:
    provider_event = f"{push.address}|{push.history_id}"
    return Notification(
        event_id=derive_event_id("notification", source.doc_source_id, provider_event),
        occurred_at=at,
        tenant_id=source.tenant_id,
        doc_source_id=source.doc_source_id,
        provider="gmail",
        subscription_id=source.subscription_id,
        history_id=push.history_id,
        provider_event=provider_event,
    )

"""Maps Graph's JSON to our types. A member that is left out stays None: unknown, not empty."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from mailroom_common.errors import ProviderUnavailable
from mailroom_common.logs import get_logger
from mailroom_common.providers.headers import select_filter_headers
from mailroom_common.providers.types import (
    OMITTED_PARTS,
    Change,
    ChangeKind,
    FollowUpFlag,
    Mailbox,
    MessageSummary,
    Part,
    PartKind,
    Subscription,
)
from mailroom_common.providers.untrusted_text import (
    MAX_HTML_CHARACTERS,
    MAX_PARTS,
    read_filename,
    read_flag,
    read_id,
    read_object,
    read_size,
    read_text,
    read_texts,
)

log = get_logger()

# Delta puts it into its token: a changed select would take effect only with the next round from nothing.
SUMMARY_SELECT = (
    "id,receivedDateTime,lastModifiedDateTime,internetMessageId,conversationId,subject,from,sender,isRead,isDraft,"
    "importance,flag,hasAttachments,categories,parentFolderId,changeKey"
)
# Headers are the heaviest member: never asked of a whole mailbox, only of what a list or a fetch is about.
LIST_SELECT = f"{SUMMARY_SELECT},internetMessageHeaders"
BODY_SELECT = f"{LIST_SELECT},body"
PART_SELECT = "id,name,contentType,size,isInline,lastModifiedDateTime"
CONTENT_ID_SELECT = f"{PART_SELECT},microsoft.graph.fileAttachment/contentId"
EXPAND_PARTS = f"attachments($select={CONTENT_ID_SELECT})"

_KINDS = {
    "#microsoft.graph.itemattachment": PartKind.MESSAGE,
    "#microsoft.graph.referenceattachment": PartKind.LINK,
}

_FLAGS = {
    "notflagged": FollowUpFlag.NOT_FLAGGED,
    "flagged": FollowUpFlag.FLAGGED,
    "complete": FollowUpFlag.COMPLETE,
}

# Any: Graph's JSON, read member by member here and nowhere else.
Payload = Mapping[str, Any]


def build_summary(message: Payload) -> MessageSummary:
    sender = read_object(read_object(message, "from") or read_object(message, "sender"), "emailAddress")
    headers = message.get("internetMessageHeaders")
    return MessageSummary(
        message_id=read_required(message, "id"),
        folder_id=read_id(message.get("parentFolderId")),
        received_at=parse_time(message.get("receivedDateTime")),
        modified_at=parse_time(message.get("lastModifiedDateTime")),
        internet_message_id=read_text(message.get("internetMessageId")),
        conversation_id=read_text(message.get("conversationId")),
        subject=read_text(message.get("subject")),
        sender_address=read_text(sender.get("address")),
        sender_name=read_text(sender.get("name")),
        is_read=read_flag(message.get("isRead")),
        is_draft=read_flag(message.get("isDraft")),
        importance=read_text(message.get("importance")),
        flag=_FLAGS.get(str(read_object(message, "flag").get("flagStatus")).lower()),
        has_attachments=read_flag(message.get("hasAttachments")),
        categories=read_texts(message.get("categories")),
        version=read_text(message.get("changeKey")) or read_text(message.get("@odata.etag")),
        headers=select_filter_headers(headers) if isinstance(headers, list) else None,
        parts=_read_expanded_parts(message),
    )


def _read_expanded_parts(message: Payload) -> tuple[Part, ...] | None:
    """None where they did not come along, or not all of them."""
    attachments = message.get("attachments")
    if not isinstance(attachments, list) or "attachments@odata.nextLink" in message:
        return None
    if not attachments and message.get("hasAttachments"):
        return None
    return build_parts(item for item in attachments if isinstance(item, Mapping))


def read_html(message: Payload) -> str:
    body = read_object(message, "body")
    content, is_html = body.get("content"), str(body.get("contentType")).lower() == "html"
    return content[:MAX_HTML_CHARACTERS] if is_html and isinstance(content, str) else ""


def build_changes(items: Iterable[Payload]) -> tuple[Change, ...]:
    return tuple(_build_change(item) for item in items if _has_id(item))


def build_listed_summaries(items: Iterable[Payload]) -> list[MessageSummary]:
    """An item that breaks the mapping shows with its id and its time alone: its fetch then fails, and no page's."""
    return [_try_build_summary(item) or _build_bare_summary(item) for item in items if _has_id(item)]


def _build_change(item: Payload) -> Change:
    if "@removed" in item:
        return Change(ChangeKind.REMOVED, read_required(item, "id"))
    return Change(ChangeKind.PRESENT, read_required(item, "id"), _try_build_summary(item))


def _build_bare_summary(item: Payload) -> MessageSummary:
    return MessageSummary(
        message_id=read_required(item, "id"), modified_at=parse_time(item.get("lastModifiedDateTime"))
    )


def _try_build_summary(item: Payload) -> MessageSummary | None:
    try:
        return build_summary(item)
    except Exception as error:  # noqa: BLE001  # a traceback for each page that shows the item says no more than its name
        # Untrusted input: one mail that breaks the mapping must not fail the page it is on.
        log.warning("listed_item_reduced_to_id", message_id=item.get("id"), error=type(error).__name__)
        return None


def _has_id(item: Payload) -> bool:
    if read_id(item.get("id")) is not None:
        return True
    # It can neither be fetched nor recorded, and must not keep the page that shows it from being read.
    log.warning("listed_item_skipped", provider="outlook")
    return False


def build_parts(attachments: Iterable[Payload]) -> tuple[Part, ...]:
    """Each once: a list that changes between two of its pages shows an attachment twice."""
    parts: dict[str, Part] = {}
    for position, attachment in enumerate(attachments):
        part = _build_part(attachment, position)
        if len(parts) == MAX_PARTS and part.part_path not in parts:
            return (*parts.values(), OMITTED_PARTS)
        parts[part.part_path] = part
    return tuple(parts.values())


def _build_part(attachment: Payload, position: int) -> Part:
    attachment_id = read_id(attachment.get("id"))
    kind = _KINDS.get(str(attachment.get("@odata.type")).lower(), PartKind.FILE)
    return Part(
        # Without an id there is no way to its bytes; it is shown all the same.
        part_path=attachment_id or f"{position} (without an id)",
        kind=kind if attachment_id else PartKind.UNAVAILABLE,
        filename=read_filename(attachment.get("name")),
        content_type=read_text(attachment.get("contentType")),
        size_bytes=read_size(attachment.get("size")),
        is_inline=read_flag(attachment.get("isInline")) or False,
        content_id=read_text(attachment.get("contentId")),
        handle=attachment_id,
    )


def build_subscription(subscription: Payload) -> Subscription:
    expires_at = parse_time(subscription.get("expirationDateTime"))
    if expires_at is None:
        raise ProviderUnavailable("Graph left out when a subscription expires")
    # Graph repeats the client state to whoever created the subscription, and null to everybody else.
    client_state = subscription.get("clientState") or ""
    return Subscription(
        subscription_id=read_required(subscription, "id"),
        resource=subscription.get("resource") or "",
        expires_at=expires_at,
        notification_url=subscription.get("notificationUrl"),
        lifecycle_url=subscription.get("lifecycleNotificationUrl"),
        doc_source_id=client_state.partition(":")[0] or None,
    )


def build_messages_resource(mailbox: Mailbox) -> str:
    return f"/users/{mailbox.provider_user_id or mailbox.address}/messages"


def read_resource_owner(resource: str) -> str | None:
    """Whose messages a subscription watches, in lower case; None when it watches something else. Graph spells resources
    in several ways."""
    owner, _, rest = resource.strip("/").removeprefix("users/").removeprefix("Users/").partition("/")
    return owner.lower() if "messages" in rest.lower() else None


def list_owner_names(mailbox: Mailbox) -> frozenset[str]:
    """The owners that mean this mailbox in a resource."""
    return frozenset(name.lower() for name in (mailbox.provider_user_id, mailbox.address, "me") if name)


def read_items(page: Payload) -> Iterable[Payload]:
    value = page.get("value")
    if not isinstance(value, list):
        raise ProviderUnavailable("Graph answered a list without a list in it")
    return [item for item in value if isinstance(item, dict)]


def read_translated_ids(answer: Payload) -> dict[str, str]:
    """By the id that was asked for; one that has errorDetails instead is left out."""
    ids = ((read_id(item.get("sourceId")), read_id(item.get("targetId"))) for item in read_items(answer))
    return {source: target for source, target in ids if source is not None and target is not None}


def read_required(item: Payload, name: str) -> str:
    value = read_id(item.get(name))
    if value is None:
        raise ProviderUnavailable(f"Graph left out {name}")
    return value


def parse_time(text: object) -> datetime | None:
    """Graph writes up to seven digits of a second, `Z` or an offset, and on occasion no zone at all: that is UTC."""
    if not isinstance(text, str) or not text:
        return None
    whole, _, rest = text.replace("z", "Z").replace("Z", "+00:00").partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    zone = rest[len(digits) :]
    try:
        at = datetime.fromisoformat(f"{whole}.{digits[:6]:0<6}{zone}" if digits else whole + zone)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):  # OverflowError: an hour before year 1, by its offset
        return None


def format_time(at: datetime) -> str:
    at = at.astimezone(UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S") + (f".{at.microsecond:06d}" if at.microsecond else "") + "Z"

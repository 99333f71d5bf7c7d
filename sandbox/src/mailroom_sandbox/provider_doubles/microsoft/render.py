"""A stored mail as Graph's `message`."""

import html
import re
import sqlite3
import uuid
from collections.abc import Iterable, Sequence

import orjson

from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.provider_doubles.microsoft.attachments import Attachment, build_attachments, has_attachments
from mailroom_sandbox.provider_doubles.microsoft.odata import BadQuery
from mailroom_sandbox.provider_doubles.wire import format_graph_time, to_ms

# Given only when named in `$select`.
_ON_REQUEST = frozenset({"internetMessageHeaders", "uniqueBody"})
_BODY_MEMBERS = frozenset({"body", "bodyPreview", "uniqueBody"})
_MEMBERS = (
    "id",
    "createdDateTime",
    "lastModifiedDateTime",
    "changeKey",
    "categories",
    "receivedDateTime",
    "sentDateTime",
    "hasAttachments",
    "internetMessageId",
    "internetMessageHeaders",
    "subject",
    "body",
    "bodyPreview",
    "importance",
    "parentFolderId",
    "sender",
    "from",
    "toRecipients",
    "ccRecipients",
    "bccRecipients",
    "replyTo",
    "conversationId",
    "conversationIndex",
    "uniqueBody",
    "isRead",
    "isDraft",
    "isDeliveryReceiptRequested",
    "isReadReceiptRequested",
    "webLink",
    "inferenceClassification",
    "flag",
)
_BY_LOWER_NAME = {name.lower(): name for name in _MEMBERS}


def check_selected(selected: Sequence[str]) -> tuple[str, ...]:
    """The members by their proper names."""
    for name in selected:
        if name.lower() not in _BY_LOWER_NAME:
            raise BadQuery(f"Could not find a property named '{name}' on type 'microsoft.graph.message'.")
    return tuple(_BY_LOWER_NAME[name.lower()] for name in selected)


def stored_attachments(row: sqlite3.Row, source: bytes, *, immutable: bool) -> tuple[Attachment, ...]:
    message_id = row["immutable_id"] if immutable else row["rest_id"]
    return build_attachments(mime.parse_mail(source), message_id, row["created_ms"])


def build_message_json(
    row: sqlite3.Row,
    source: bytes,
    *,
    immutable: bool,
    selected: Sequence[str] = (),
    text_body: bool = False,
    basic: bool = False,
) -> dict[str, object]:
    """`basic` leaves out what `Mail.ReadBasic` may not see."""
    content = _build_content_json(mime.parse_mail(source), text_body)
    received = format_graph_time(row["received_ms"])
    message_id = row["immutable_id"] if immutable else row["rest_id"]
    everything: dict[str, object] = {
        "id": message_id,
        "createdDateTime": format_graph_time(row["created_ms"]),
        "lastModifiedDateTime": format_graph_time(row["modified_ms"]),
        "changeKey": row["change_key"],
        "categories": orjson.loads(row["categories"]),
        "receivedDateTime": received,
        **content,
        "sentDateTime": content["sentDateTime"] or received,
        "parentFolderId": row["folder_id"],
        "isRead": bool(row["is_read"]),
        "isDraft": bool(row["is_draft"]),
        "flag": {"flagStatus": row["flag_status"]},
        "webLink": f"https://outlook.office365.com/owa/?ItemID={row['rest_id']}&exvsurl=1&viewmodel=ReadMessageItem",
    }
    if not everything["internetMessageId"]:
        # Exchange gives a Message-ID to mail that came without one.
        everything["internetMessageId"] = f"<{uuid.uuid5(uuid.NAMESPACE_OID, row['immutable_id'])}@sandbox.example>"
    wanted = set(selected) | {"id"} if selected else set(_MEMBERS) - _ON_REQUEST
    if basic:
        wanted -= _BODY_MEMBERS
    kind = {"@odata.type": "#microsoft.graph.eventMessageRequest"} if _is_invitation(source) else {}
    chosen = {name: value for name, value in everything.items() if name in wanted}
    return {**kind, "@odata.etag": f'W/"{row["change_key"]}"', **chosen}


def build_nested_json(source: bytes) -> dict[str, object]:
    """A message inside another, as `$expand=microsoft.graph.itemattachment/item` shows it: with an empty id."""
    content = _build_content_json(mime.parse_mail(source), text_body=False)
    shown = {name: value for name, value in content.items() if name not in _ON_REQUEST}
    return {"@odata.type": "#microsoft.graph.message", "id": "", "isRead": True, "isDraft": False, **shown}


def _build_content_json(root: mime.MimePart, text_body: bool) -> dict[str, object]:
    body = _body_json(root)
    plain = _plain_text(body)
    if text_body:
        body = {"contentType": "text", "content": plain}
    sent = mime.read_sent_time(root)
    subject = root.read_header("subject") or ""
    sender = mime.list_people(root, "sender") or mime.list_people(root, "from")
    members: dict[str, object] = {
        "sentDateTime": format_graph_time(to_ms(sent)) if sent else None,
        "hasAttachments": has_attachments(root),
        "internetMessageId": (root.read_header("message-id") or "").strip(),
        "internetMessageHeaders": [{"name": name, "value": value} for name, value in root.headers],
        "subject": subject,
        "bodyPreview": plain[:255],
        "body": body,
        "uniqueBody": body,
        "importance": _read_importance(root),
        "sender": next(iter(_build_recipients_json(sender)), None),
        "from": next(iter(_build_recipients_json(mime.list_people(root, "from"))), None),
        "toRecipients": _build_recipients_json(mime.list_people(root, "to")),
        "ccRecipients": _build_recipients_json(mime.list_people(root, "cc")),
        "bccRecipients": _build_recipients_json(mime.list_people(root, "bcc")),
        "replyTo": _build_recipients_json(mime.list_people(root, "reply-to")),
        "conversationId": _conversation_id(root, subject),
        "isDeliveryReceiptRequested": False,
        "isReadReceiptRequested": root.read_header("disposition-notification-to") is not None,
        "inferenceClassification": "focused",
        "flag": {"flagStatus": "notFlagged"},
    }
    # A mail without a sender has no `from` at all.
    return {name: value for name, value in members.items() if value is not None or name == "sentDateTime"}


def _body_json(root: mime.MimePart) -> dict[str, object]:
    if page := mime.body_part(root, "text/html"):
        return {"contentType": "html", "content": page.text()}
    texts = [leaf.text() for leaf in mime.list_leaves(root) if mime.is_body(leaf)]
    return {"contentType": "text", "content": "\r\n".join(texts)}


def _plain_text(body: dict[str, object]) -> str:
    content = str(body["content"])
    if body["contentType"] == "text":
        return content
    without_code = re.sub(r"(?is)<(script|style|head)\b.*?</\1>", " ", content)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", without_code))).strip()


def _build_recipients_json(found: Iterable[mime.MailAddress]) -> list[dict[str, object]]:
    return [{"emailAddress": {"name": person.name, "address": person.address}} for person in found]


def _read_importance(root: mime.MimePart) -> str:
    stated = (root.read_header("importance") or "").strip().lower()
    if stated in ("low", "normal", "high"):
        return stated
    return {"1": "high", "2": "high", "4": "low", "5": "low"}.get(
        (root.read_header("x-priority") or "").strip()[:1], "normal"
    )


def _conversation_id(root: mime.MimePart, subject: str) -> str:
    first = (
        root.read_header("references") or root.read_header("in-reply-to") or root.read_header("message-id") or subject
    ).split()
    return f"AAQkADUOpag6{uuid.uuid5(uuid.NAMESPACE_OID, first[0] if first else '').hex}="


def _is_invitation(source: bytes) -> bool:
    root = mime.parse_mail(source)
    calendars = [leaf for leaf in mime.list_leaves(root) if leaf.content_type == "text/calendar" and mime.is_body(leaf)]
    return any("METHOD:REQUEST" in leaf.text().upper() for leaf in calendars)

"""What Exchange makes of a mail's parts: a body, and everything else as attachments."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.provider_doubles.microsoft.odata import BadQuery
from mailroom_sandbox.provider_doubles.wire import format_graph_time

FILE = "#microsoft.graph.fileAttachment"
ITEM = "#microsoft.graph.itemAttachment"
_MEMBERS = frozenset({"id", "name", "contentType", "size", "isInline", "lastModifiedDateTime"})
_CAST = "microsoft.graph.fileattachment/"
_CAST_MEMBERS = {"contentid": "contentId", "contentbytes": "contentBytes", "contentlocation": "contentLocation"}
# `size` counts the stored form: a little more than the bytes one downloads.
_STORED_OVERHEAD_BYTES = 178


@dataclass(frozen=True, slots=True)
class Attachment:
    attachment_id: str
    part: mime.MimePart
    modified_ms: int

    @property
    def is_item(self) -> bool:
        return self.part.is_message

    @property
    def is_inline(self) -> bool:
        part = self.part
        return part.disposition == "inline" or (
            part.disposition is None and part.is_related_child and part.content_id is not None
        )

    @property
    def name(self) -> str | None:
        """An item is called by its subject, a file as the sender called it, path and all."""
        if not self.is_item:
            return self.part.filename
        return mime.parse_mail(self.part.content).read_header("subject") or self.part.filename


def build_attachments(root: mime.MimePart, message_id: str, modified_ms: int) -> tuple[Attachment, ...]:
    files = [leaf for leaf in mime.list_leaves(root) if not mime.is_body(leaf)]
    return tuple(Attachment(_attachment_id(message_id, index), part, modified_ms) for index, part in enumerate(files))


def has_attachments(root: mime.MimePart) -> bool:
    """False when all of them are inline."""
    return any(not attachment.is_inline for attachment in build_attachments(root, "", 0))


def build_attachment_json(
    attachment: Attachment, selected: Sequence[str] = (), *, item: object = None
) -> dict[str, object]:
    """With everything, or with what was selected (checked by `check_selected`)."""
    part = attachment.part
    base: dict[str, object] = {
        "id": attachment.attachment_id,
        "lastModifiedDateTime": format_graph_time(attachment.modified_ms),
        "name": attachment.name,
        "contentType": None if attachment.is_item else part.content_type,
        "size": len(part.content) + _STORED_OVERHEAD_BYTES,
        "isInline": attachment.is_inline,
    }
    of_files = {} if attachment.is_item else _file_members(attachment)
    if selected:
        wanted = {name.lower() for name in selected}
        base = {name: value for name, value in base.items() if name == "id" or name.lower() in wanted}
        of_files = {name: value for name, value in of_files.items() if f"{_CAST}{name.lower()}" in wanted}
    elif not attachment.is_item:
        of_files["contentBytes"] = base64.b64encode(part.content).decode()
    kind: dict[str, object] = {"@odata.type": ITEM if attachment.is_item else FILE}
    if not attachment.is_item:
        kind["@odata.mediaContentType"] = part.content_type
    expanded = {"item": item} if item is not None else {}
    return {**kind, **base, **of_files, **expanded}


def _file_members(attachment: Attachment) -> dict[str, object]:
    return {"contentId": attachment.part.content_id, "contentLocation": attachment.part.read_header("content-location")}


def check_selected(selected: Sequence[str]) -> None:
    """Members of the subtype cannot be named without the cast."""
    for name in selected:
        lowered = name.lower()
        is_cast = lowered.startswith(_CAST) and lowered.removeprefix(_CAST) in _CAST_MEMBERS
        if not is_cast and lowered not in {member.lower() for member in _MEMBERS}:
            raise BadQuery(f"Could not find a property named '{name}' on type 'microsoft.graph.attachment'.")


def _attachment_id(message_id: str, index: int) -> str:
    """Follows the message's id: it changes with a default id and stays with an immutable one."""
    tail = hashlib.sha256(f"{message_id}/{index}".encode()).digest()[:17]
    return f"{message_id[:60]}BEgAQA{base64.urlsafe_b64encode(tail).decode()}"

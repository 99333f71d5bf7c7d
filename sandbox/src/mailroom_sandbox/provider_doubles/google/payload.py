"""A mail as Gmail's tree of parts."""

import base64
from collections.abc import Callable, Iterable

from mailroom_sandbox.provider_doubles import mime

# Small content is in the answer, the rest has to be fetched: a large text too, and a small file is not spared.
INLINE_TEXT_BYTES = 32 * 1024
INLINE_FILE_BYTES = 512


# A mail that has this header is shown as Gmail shows some: its attached mails by their parts alone, without an id.
SPLIT_MESSAGES_HEADER = "x-sandbox-attached-mails-without-id"

AttachmentIds = Callable[[mime.MimePart], str | None]


def build_payload(root: mime.MimePart, attachment_id: Callable[[mime.MimePart], str]) -> dict[str, object]:
    splits_messages = root.read_header(SPLIT_MESSAGES_HEADER) is not None
    return _build_part_json(root, lambda part: None if splits_messages and part.is_message else attachment_id(part))


def list_headers(root: mime.MimePart, only: Iterable[str] = ()) -> list[dict[str, str]]:
    wanted = {name.lower() for name in only}
    return [{"name": name, "value": value} for name, value in root.headers if not wanted or name.lower() in wanted]


def find_part(root: mime.MimePart, part_id: str) -> mime.MimePart | None:
    if root.part_id == part_id:
        return root
    return next((found for child in root.parts if (found := find_part(child, part_id)) is not None), None)


def encode_base64url(content: bytes) -> str:
    """The padding is there or missing, depending on nothing that a client could know."""
    text = base64.urlsafe_b64encode(content).decode()
    return text.rstrip("=") if len(content) % 2 else text


def _build_part_json(part: mime.MimePart, attachment_id: AttachmentIds) -> dict[str, object]:
    shown: dict[str, object] = {
        "partId": part.part_id,
        "mimeType": part.content_type,
        "filename": part.filename or "",
        "headers": list_headers(part),
        "body": _body_json(part, attachment_id),
    }
    if part.parts:
        shown["parts"] = [_build_part_json(child, attachment_id) for child in part.parts]
    return shown


def _body_json(part: mime.MimePart, attachment_id: AttachmentIds) -> dict[str, object]:
    size = len(part.content)
    if part.is_multipart or not size:
        return {"size": size}
    limit = INLINE_FILE_BYTES if part.filename or not part.content_type.startswith("text/") else INLINE_TEXT_BYTES
    if size <= limit and not part.is_message:
        return {"size": size, "data": encode_base64url(part.content)}
    found = attachment_id(part)
    return {"size": 0} if found is None else {"attachmentId": found, "size": size}

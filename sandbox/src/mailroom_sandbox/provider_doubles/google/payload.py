"""A mail as Gmail's tree of parts."""

import base64
from collections.abc import Callable, Iterable

from mailroom_sandbox.provider_doubles import mime

# Small content is in the answer, the rest has to be fetched: a large text too, and a small file is not spared.
INLINE_TEXT_BYTES = 32 * 1024
INLINE_FILE_BYTES = 512


def build_payload(
    part: mime.MimePart, attachment_id: Callable[[mime.MimePart], str], *, hides_nested: bool = False
) -> dict[str, object]:
    """With `hides_nested` a nested mail is shown by its parts alone, without a way to its own bytes."""
    shown: dict[str, object] = {
        "partId": part.part_id,
        "mimeType": part.content_type,
        "filename": part.filename or "",
        "headers": list_headers(part),
        "body": {"size": 0} if hides_nested and part.is_message else _body_json(part, attachment_id),
    }
    if part.parts:
        shown["parts"] = [build_payload(child, attachment_id, hides_nested=hides_nested) for child in part.parts]
    return shown


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


def _body_json(part: mime.MimePart, attachment_id: Callable[[mime.MimePart], str]) -> dict[str, object]:
    size = len(part.content)
    if part.is_multipart or not size:
        return {"size": size}
    limit = INLINE_FILE_BYTES if part.filename or not part.content_type.startswith("text/") else INLINE_TEXT_BYTES
    if size <= limit and not part.is_message:
        return {"size": size, "data": encode_base64url(part.content)}
    return {"attachmentId": attachment_id(part), "size": size}

"""Where the archive keeps a copy of a document, and its object metadata: one rule for every source (design 6)."""

import re
from collections.abc import Iterator
from datetime import date, datetime
from email.utils import parseaddr
from hashlib import sha256
from urllib.parse import quote

from ingestion.domain.document import DocumentAttachment, format_rfc3339

_LONGEST_NAME_BYTES = 120
# S3 takes 2 KB of metadata in all, names included; the sender's address is the one value that is untrusted.
_LONGEST_VALUE = 1000


def build_archive_paths(attachment: DocumentAttachment, *, taken_on: date) -> Iterator[str]:
    """The path of the copy, and the one to fall back to when another document has it: two files of one mail may well
    have the same name."""
    received = attachment.received_at.date() if attachment.received_at else taken_on
    folder = "/".join(
        (
            "archive",
            f"sender_email={encode_sender_address(attachment.sender_address)}",
            f"received_date={received.isoformat()}",
            hash_message_id(attachment.message_id),
        )
    )
    stem = sanitize_file_stem(attachment.filename)
    yield f"{folder}/{stem}.pdf"
    yield f"{folder}/{stem}-{attachment.attachment_id}.pdf"


def hash_message_id(message_id: str) -> str:
    """The first 16 hex digits of SHA-256 of the message's id: what is used where no trade names the copy."""
    return sha256(message_id.encode()).hexdigest()[:16]


def encode_sender_address(sender: str | None) -> str:
    """The sender's address, percent-encoded so that only letters, digits, `-`, `_` and `~` stay."""
    return quote(parse_sender_address(sender) or "unknown", safe="").replace(".", "%2E")[:200]


def parse_sender_address(sender: str | None) -> str:
    """`Anna <anna@a.example>` and `anna@a.example` are one sender."""
    try:
        return parseaddr(sender or "")[1].strip().lower()
    except RecursionError:  # comments within comments: nobody's address
        return ""


def sanitize_file_stem(filename: str | None) -> str:
    """A safe name from an untrusted one: no path, no control characters, no ending, not too long."""
    name = re.split(r"[/\\]", filename or "")[-1]
    name = re.sub(r"[\x00-\x1f\x7f]", "", name).strip().strip(".")
    stem = name.rpartition(".")[0] or name if re.search(r"\.\w{1,5}$", name) else name
    short = stem.encode("utf-8", "replace")[:_LONGEST_NAME_BYTES].decode("utf-8", "ignore").strip(" .")
    return short or "document"


def build_archive_metadata(attachment: DocumentAttachment, *, source: str, processed_at: datetime) -> dict[str, str]:
    """The object's metadata, in ASCII, since that is all S3 takes. `source` is the way that the document came."""
    return {
        "sender-email": _encode_ascii(parse_sender_address(attachment.sender_address)),
        "source": source,
        "processed-at": format_rfc3339(processed_at),
    }


def _encode_ascii(text: str) -> str:
    """The text, percent-encoded unless it is plain ASCII, and cut where no character is split."""
    is_plain = text.isascii() and text.isprintable()
    written = ""
    for character in text:
        sign = character if is_plain else quote(character, safe="@")
        if len(written) + len(sign) > _LONGEST_VALUE:
            break
        written += sign
    return written

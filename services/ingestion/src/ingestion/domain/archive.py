"""Which documents have a copy in the archive, where it is kept, and its object metadata: one rule for every source
(design 6)."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from email.utils import parseaddr
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote

from ingestion.domain.document import DocumentAttachment, DocumentOutcome, format_rfc3339
from ingestion.domain.transcript import PDF
from mailroom_common.events import Profile, ResultStatus

_LONGEST_NAME_BYTES = 120
_LONGEST_KEY_PART = 60
# S3 takes 2 KB of metadata in all, names included; the sender's address is the one value that is untrusted.
_LONGEST_VALUE = 1000


# By profile, the statuses in which a PDF has its copy. A broker's note is kept for audit whatever was read in it. What
# was skipped of an invoice mailbox is nobody's record, and what `failed` was not read: nothing is known of it.
_ARCHIVED_STATUSES = {
    Profile.INVOICE: frozenset({ResultStatus.COMPLETED, ResultStatus.NEEDS_REVIEW}),
    Profile.CONTRACT_NOTE: frozenset({ResultStatus.COMPLETED, ResultStatus.NEEDS_REVIEW, ResultStatus.SKIPPED}),
}


class KeyedTrade(Protocol):
    """What the key of a trade is made of. `account_name` is the name of the account, or its user's, on the note."""

    @property
    def account_name(self) -> str | None: ...

    @property
    def trade_date(self) -> date | None: ...

    @property
    def ticker(self) -> str | None: ...

    @property
    def isin(self) -> str | None: ...

    @property
    def direction(self) -> str | None: ...

    @property
    def quantity(self) -> Decimal | None: ...


def is_archived(profile: Profile, outcome: DocumentOutcome, content_type: str | None) -> bool:
    """Whether a document with this outcome has a copy in the archive."""
    return content_type == PDF and outcome.status in _ARCHIVED_STATUSES.get(profile, frozenset())


def build_trade_key(trades: Sequence[KeyedTrade], *, sender: str | None) -> str | None:
    """`{username}-{date}-{ticker}-{direction}-{quantity}` of the first trade; None where there is none, or where that
    lacks one of them: half a key would be that of several trades."""
    if not trades:
        return None
    first = trades[0]
    parts = (
        first.account_name or parse_sender_address(sender),
        None if first.trade_date is None else f"{first.trade_date:%Y%m%d}",
        first.ticker or first.isin,
        first.direction,
        None if first.quantity is None else f"{first.quantity.normalize():f}",
    )
    encoded = [_encode_key_part(part or "") for part in parts]
    return "-".join(encoded) if all(encoded) else None


def _encode_key_part(text: str) -> str:
    """A hyphen stays free for the key's own, and every sign is one that a path may have."""
    encoded = quote(text.strip(), safe="").replace(".", "%2E").replace("-", "%2D")
    # Cut between signs: half a `%2E` could not be decoded.
    return re.sub(r"%.?$", "", encoded[:_LONGEST_KEY_PART])


def build_archive_paths(
    attachment: DocumentAttachment, *, taken_on: date, trade_key: str | None = None
) -> Iterator[str]:
    """The path of the copy, and the one to fall back to when another document has it: two files of one mail may well
    have the same name."""
    received = attachment.received_at.date() if attachment.received_at else taken_on
    folder = "/".join(
        (
            "archive",
            f"sender_email={encode_sender_address(attachment.sender_address)}",
            f"received_date={received.isoformat()}",
            trade_key or _name_without_trade(attachment),
        )
    )
    stem = sanitize_file_stem(attachment.filename)
    yield f"{folder}/{stem}.pdf"
    yield f"{folder}/{stem}-{attachment.attachment_id}.pdf"


def _name_without_trade(attachment: DocumentAttachment) -> str:
    """The id of the attachment is a UUID, and the same at each attempt: a new one would make a second copy."""
    return hash_message_id(attachment.message_id) if attachment.message_id else attachment.attachment_id


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


def build_archive_metadata(
    attachment: DocumentAttachment, *, source: str, processed_at: datetime, trade_key: str | None = None
) -> dict[str, str]:
    """The object's metadata, in ASCII, since that is all S3 takes. `source` is the way that the document came."""
    return {
        "sender-email": _encode_ascii(parse_sender_address(attachment.sender_address)),
        "source": source,
        "processed-at": format_rfc3339(processed_at),
        **({} if trade_key is None else {"trade-key": trade_key}),
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

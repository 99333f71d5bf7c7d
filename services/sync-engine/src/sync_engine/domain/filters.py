"""Whether a mail may carry a document at all. In doubt it may: a wrong yes costs a look, a wrong no an invoice."""

import re
from collections.abc import Iterable
from enum import StrEnum

from mailroom_common.events import Profile, SourceFilter
from mailroom_common.providers.types import MessageSummary, Part
from sync_engine.domain.parts import Left, judge_by_name
from sync_engine.domain.words import speak_of_document

REJECTED = "rejected_mail:{}"
"""The reason of a part that would have been taken, had it come in another mail."""


class RejectedMail(StrEnum):
    NEWSLETTER = "newsletter"
    INVITATION = "invitation"
    BOUNCE = "bounce"
    NO_DOCUMENT_WORDS = "no_document_words"
    SENDER_DENIED = "sender_denied"


_DAEMONS = re.compile(r"(mailer[-_.]?daemon|microsoftexchange[0-9a-f]{8,}|mail-?delivery)", re.IGNORECASE)
_POSTMASTER = re.compile(r"postmaster@", re.IGNORECASE)
_BOUNCED = re.compile(
    r"\s*(undeliver|delivery (status|failure)|mail delivery|returned mail|failure notice|unzustellbar|nicht zustellbar"
    r"|non remis|echec de|échec de|non recapitabile|no se puede entregar|onbestelbaar|kan niet worden|olevererbar"
    r"|niedostarczon|não entregue|не доставлено)",
    re.IGNORECASE,
)
_BULK = frozenset({"bulk", "junk", "list"})
_BULK_HEADERS = ("list-unsubscribe", "list-id", "list-post")


def judge_mail(
    summary: MessageSummary, parts: Iterable[Part], profile: Profile, rules: SourceFilter, *, html: str | None = None
) -> RejectedMail | None:
    """None lets the mail in. `html` is asked for by `needs_body` only."""
    if sender_is_among(summary, rules.sender_deny):
        return RejectedMail.SENDER_DENIED
    if sender_is_among(summary, rules.sender_allow):
        return None
    if is_bounce(summary):
        return RejectedMail.BOUNCE
    parts = tuple(parts)
    speaks = speak_of_document(profile, summary.subject, *(part.filename for part in parts))
    if not speaks and is_newsletter(summary):
        return RejectedMail.NEWSLETTER
    if not speaks and any(judge_by_name(part) is Left.CALENDAR_OR_CARD for part in parts):
        return RejectedMail.INVITATION
    if speaks or speak_of_document(profile, summary.sender_address, summary.sender_name):
        return None
    is_strict = rules.strictness == "strict"
    if not is_strict and any(judge_by_name(part) is None for part in parts):
        return None  # something that may be a document: its bytes will tell
    return None if "<table" in (html or "").lower() else RejectedMail.NO_DOCUMENT_WORDS


def needs_body(summary: MessageSummary, parts: Iterable[Part], profile: Profile, rules: SourceFilter) -> bool:
    """Whether only a `<table>` in the body can still let the mail in: a strict source's, since others take any file."""
    return rules.strictness == "strict" and (
        judge_mail(summary, parts, profile, rules) is RejectedMail.NO_DOCUMENT_WORDS
    )


def may_have_hidden_parts(summary: MessageSummary, profile: Profile, rules: SourceFilter) -> bool:
    """Graph says "no attachments" of a mail with inline parts only; a list of them is worth a call only here."""
    return speak_of_document(profile, summary.subject, summary.sender_address, summary.sender_name) or sender_is_among(
        summary, rules.sender_allow
    )


def is_bounce(summary: MessageSummary) -> bool:
    headers = summary.headers or {}
    if "report-type=delivery-status" in headers.get("content-type", "").replace('"', "").lower():
        return True
    address = summary.sender_address or ""
    if _DAEMONS.search(address):
        return True
    return bool(_POSTMASTER.match(address) and _BOUNCED.match(summary.subject or ""))


def is_newsletter(summary: MessageSummary) -> bool:
    headers = summary.headers or {}
    return any(name in headers for name in _BULK_HEADERS) or headers.get("precedence", "").strip().lower() in _BULK


def is_automated(summary: MessageSummary) -> bool:
    headers = summary.headers or {}
    said = headers.get("auto-submitted", "no").partition(";")[0].strip().lower()
    return said != "no" or is_bounce(summary)


def sender_is_among(summary: MessageSummary, listed: Iterable[str]) -> bool:
    """`listed` has addresses (`a@b.example`) and domains (`b.example` or `@b.example`, subdomains too)."""
    address = (summary.sender_address or "").strip().lower()
    domain = address.rpartition("@")[2]
    for entry in (item.strip().lower() for item in listed):
        wanted = entry.removeprefix("@")
        if address == entry or (domain and "@" not in wanted and (domain == wanted or domain.endswith("." + wanted))):
            return True
    return False

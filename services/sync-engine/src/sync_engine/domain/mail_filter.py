"""Whether a mail may carry a document at all. In doubt it may: a wrong yes costs a fetch, a wrong no an invoice."""

import re
from collections.abc import Iterable
from enum import StrEnum

from mailroom_common.events import Profile, SourceFilter
from mailroom_common.providers.types import MessageSummary, Part
from sync_engine.domain.document_words import mentions_document
from sync_engine.domain.parts import SkipReason, is_attached_message, may_be_document, skip_reason_by_declaration

REJECTED_MAIL_REASON = "rejected_mail:{}"
"""The skip reason of a part that would have been stored, had it come in another mail."""


class MailRejection(StrEnum):
    NEWSLETTER = "newsletter"  # has the headers of a mailing list and no part that may be a document
    INVITATION = "invitation"  # a meeting request or a contact card, with no part that may be a document
    BOUNCE = "bounce"  # a delivery report with no part that may be a document
    NO_DOCUMENT_WORDS = "no_document_words"  # no document and no word of one
    SENDER_DENIED = "sender_denied"  # the sender is on the source's deny list
    NO_PARTS = "no_parts"  # it may well be about a document, and has nothing attached
    BEFORE_START = "before_start"  # an observed mail from before the start: known, and no event told of it yet
    GONE_BEFORE_READ = "gone"  # it was announced, and gone before it could be read
    DONE_BY_OTHER_JOB = "done_by_other_job"  # the outside job, or another doc source of the same mailbox, was first


_MAILER_DAEMON = re.compile(r"mailer[-_.]?daemon|mail-?delivery", re.IGNORECASE)
# The whole local part and no less: a company may well be named `stockexchange20261128.example`.
_EXCHANGE_SYSTEM_ADDRESS = re.compile(r"[a-z]+exchange[0-9a-f]{32}@", re.IGNORECASE)
_POSTMASTER = re.compile(r"postmaster@", re.IGNORECASE)
_BOUNCE_SUBJECT = re.compile(
    r"\s*(undeliver|delivery (status|failure)|mail delivery|returned mail|failure notice|unzustellbar|nicht zustellbar"
    r"|non remis|echec de|échec de|non recapitabile|no se puede entregar|onbestelbaar|kan niet worden|olevererbar"
    r"|niedostarczon|não entregue|не доставлено)",
    re.IGNORECASE,
)
# What Exchange writes where answers are not suppressed after all.
_NO_SUPPRESSION = frozenset({"", "none"})
_BULK_PRECEDENCE = frozenset({"bulk", "junk", "list"})
_BULK_HEADERS = ("list-unsubscribe", "list-id", "list-post")


def reject_mail(
    summary: MessageSummary, parts: Iterable[Part], profile: Profile, rules: SourceFilter, *, html: str | None = None
) -> MailRejection | None:
    """None accepts the mail. `html` is needed only where `needs_html_to_judge` says so."""
    if is_sender_listed(summary, rules.sender_deny):
        return MailRejection.SENDER_DENIED
    if is_sender_listed(summary, rules.sender_allow):
        return None
    parts = tuple(parts)
    # The mail that a delivery report brings back is one that this mailbox sent.
    returns_message = is_bounce(summary)
    has_document = any(may_be_document(part) and not (returns_message and is_attached_message(part)) for part in parts)
    if has_document and rules.strictness != "strict":
        return None  # the bytes decide, whatever the mail looks like
    # Words before headers: many invoices are sent by bulk mailers.
    mentions = mentions_document(profile, summary.subject, *(part.filename for part in parts))
    if not has_document and (rejection := _reject_for_looks(summary, parts, mentions=mentions)):
        return rejection
    if mentions or mentions_document(profile, summary.sender_address, summary.sender_name):
        return None
    return None if "<table" in (html or "").lower() else MailRejection.NO_DOCUMENT_WORDS


def _reject_for_looks(summary: MessageSummary, parts: Iterable[Part], *, mentions: bool) -> MailRejection | None:
    """What headers and kinds of parts say of a mail in which no part may be a document."""
    if is_bounce(summary):
        return MailRejection.BOUNCE
    if mentions:
        return None
    if is_newsletter(summary):
        return MailRejection.NEWSLETTER
    is_invitation = any(skip_reason_by_declaration(part) is SkipReason.CALENDAR_OR_CARD for part in parts)
    return MailRejection.INVITATION if is_invitation else None


def lets_bytes_decide(rejection: MailRejection, rules: SourceFilter) -> bool:
    """Whether a part of a rejected mail is taken all the same where its first bytes are those of a document.

    Not from a denied sender, and not where the operator asks for words: there the mail was judged by more than looks.
    """
    return rejection is not MailRejection.SENDER_DENIED and rules.strictness != "strict"


def needs_html_to_judge(summary: MessageSummary, parts: Iterable[Part], profile: Profile, rules: SourceFilter) -> bool:
    """Whether only a `<table>` in the body can still have the mail accepted, as a strict source asks for."""
    return rules.strictness == "strict" and (
        reject_mail(summary, parts, profile, rules) is MailRejection.NO_DOCUMENT_WORDS
    )


def is_bounce(summary: MessageSummary) -> bool:
    headers = summary.headers or {}
    if "report-type=delivery-status" in headers.get("content-type", "").replace('"', "").lower():
        return True
    # Few servers send the report format of RFC 3464: the sender's address tells the others. Its local part alone: a
    # company may well be at `mail-delivery.example`.
    address = summary.sender_address or ""
    if _MAILER_DAEMON.search(address.partition("@")[0]) or _EXCHANGE_SYSTEM_ADDRESS.match(address):
        return True
    return bool(_POSTMASTER.match(address) and _BOUNCE_SUBJECT.match(summary.subject or ""))


def is_newsletter(summary: MessageSummary) -> bool:
    headers = summary.headers or {}
    return (
        any(name in headers for name in _BULK_HEADERS)
        or headers.get("precedence", "").strip().lower() in _BULK_PRECEDENCE
    )


def is_automated(summary: MessageSummary) -> bool:
    """Whether a program sent it: it says so, or asks for no automatic answers, which nobody who writes a mail does."""
    headers = summary.headers or {}
    submitted = headers.get("auto-submitted", "no").partition(";")[0].strip().lower()
    suppressed = headers.get("x-auto-response-suppress", "").strip().lower()
    return submitted != "no" or suppressed not in _NO_SUPPRESSION or is_bounce(summary)


def is_sender_listed(summary: MessageSummary, entries: Iterable[str]) -> bool:
    """`entries` are addresses (`a@b.example`) and domains (`b.example` or `@b.example`, subdomains too)."""
    address = (summary.sender_address or "").strip().lower()
    domain = address.rpartition("@")[2]
    for entry in (item.strip().lower() for item in entries):
        wanted = entry.removeprefix("@")
        if address == entry or (domain and "@" not in wanted and (domain == wanted or domain.endswith("." + wanted))):
            return True
    return False

"""What became of each delivered mail, judged from what the APIs say. No I/O here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_UNFINISHED = {"pending", "processing"}

Item = Mapping[str, Any]  # Any: a JSON object of the API


class PartOutcome(StrEnum):
    DOCUMENT = "document"
    DUPLICATE = "duplicate"
    SKIPPED = "skipped"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class PartAccount:
    """`reason` says why it was skipped; `document` is what it became or repeats."""

    part_path: str
    filename: str | None
    outcome: PartOutcome
    reason: str | None
    document: Item | None


@dataclass(frozen=True, slots=True)
class MailAccount:
    """`missing` says what is not accounted for yet, None when everything is."""

    message_id: str
    parts: tuple[PartAccount, ...]
    reason: str | None
    missing: str | None


def build_mail_account(message_id: str, messages: Mapping[str, Item], documents: Mapping[str, Item]) -> MailAccount:
    message = messages.get(message_id)
    if message is None:
        return MailAccount(message_id, (), None, "not seen by the sync yet")
    parts = tuple(_build_part_account(part, documents) for part in message["parts"])
    return MailAccount(message_id, parts, message["reason"], _describe_missing(message, parts))


def _build_part_account(part: Item, documents: Mapping[str, Item]) -> PartAccount:
    document = documents.get(part["document_id"] or "")
    return PartAccount(
        part["part_path"], part["filename"], _judge_outcome(part, document), part["skip_reason"], document
    )


def _judge_outcome(part: Item, document: Item | None) -> PartOutcome:
    if not part["stored"]:
        return PartOutcome.SKIPPED
    if document is None or document["status"] in _UNFINISHED:
        return PartOutcome.WAITING
    # A document has the id of the first attachment with its content; every further one repeats it.
    return PartOutcome.DOCUMENT if part["attachment_id"] == part["document_id"] else PartOutcome.DUPLICATE


def _describe_missing(message: Item, parts: Iterable[PartAccount]) -> str | None:
    if message["state"] == "parked":
        return f"parked: {message['parked_reason'] or 'see /parked-items'}"
    waiting = [part.filename or part.part_path for part in parts if part.outcome is PartOutcome.WAITING]
    if waiting:
        return f"no result yet for {', '.join(waiting)}"
    unexplained = [
        part.filename or part.part_path for part in parts if part.outcome is PartOutcome.SKIPPED and not part.reason
    ]
    if unexplained:
        return f"skipped without a reason: {', '.join(unexplained)}"
    return None if message["state"] == "closed" else f"message is {message['state']}"

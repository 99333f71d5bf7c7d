"""Whether the providers' ledger and Mailroom's documents are the same set, each once. No I/O here."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# The statuses of a document that was read; a `failed` or `skipped` one was not.
_READ = {"completed", "needs_review"}


@dataclass(frozen=True, slots=True)
class DeliveredMail:
    """A mail as the provider holds it; `contents` are the SHA-256 of its attachments."""

    doc_source_id: str
    message_id: str
    contents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    doc_source_id: str
    message_id: str
    state: str


@dataclass(frozen=True, slots=True)
class FiledDocument:
    document_id: str
    doc_source_id: str
    content_sha256: str
    status: str


@dataclass(frozen=True, slots=True)
class Difference:
    """`kind` is one word for counting, `text` names what differs."""

    kind: str
    doc_source_id: str
    text: str


def compare_ledger(
    ledger: Iterable[DeliveredMail], messages: Iterable[RecordedMessage], documents: Iterable[FiledDocument]
) -> list[Difference]:
    """Empty when every mail was recorded and closed, and every content of a mailbox is one document that was read."""
    mails = list(ledger)
    return [*_compare_messages(mails, list(messages)), *_compare_documents(mails, list(documents))]


def looks_like_dropped_page(differences: Iterable[Difference]) -> bool:
    """Mails of one mailbox lack, with their documents; where a worker is only late, those of several do."""
    found = list(differences)
    return len({one.doc_source_id for one in found}) == 1 and {one.kind for one in found} == {"unrecorded", "missing"}


def _compare_messages(mails: list[DeliveredMail], messages: list[RecordedMessage]) -> Iterator[Difference]:
    delivered = {(mail.doc_source_id, mail.message_id) for mail in mails}
    recorded = Counter((message.doc_source_id, message.message_id) for message in messages)
    for source, message in sorted(delivered - recorded.keys()):
        yield Difference("unrecorded", source, f"mail {message} of {source} was never recorded")
    for source, message in sorted(recorded.keys() - delivered):
        yield Difference(
            "unknown", source, f"message {message} of {source} was recorded, and the provider has no such mail"
        )
    for (source, message), times in sorted(recorded.items()):
        if times > 1:
            yield Difference("repeated", source, f"message {message} of {source} was recorded {times} times")
    for one in messages:
        if one.state != "closed":
            yield Difference(
                "open", one.doc_source_id, f"message {one.message_id} of {one.doc_source_id} is {one.state}"
            )


def _compare_documents(mails: list[DeliveredMail], documents: list[FiledDocument]) -> Iterator[Difference]:
    delivered = {(mail.doc_source_id, content) for mail in mails for content in mail.contents}
    filed = Counter((document.doc_source_id, document.content_sha256) for document in documents)
    for source, content in sorted(delivered - filed.keys()):
        yield Difference("missing", source, f"content {content} of {source} became no document")
    for source, content in sorted(filed.keys() - delivered):
        yield Difference("surplus", source, f"a document of {source} has content {content}, which no mail brought")
    for (source, content), times in sorted(filed.items()):
        if times > 1:
            yield Difference("doubled", source, f"content {content} of {source} became {times} documents")
    for document in documents:
        if document.status not in _READ:
            yield Difference("unread", document.doc_source_id, f"document {document.document_id} is {document.status}")

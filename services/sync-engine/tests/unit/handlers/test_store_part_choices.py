"""The reason of a part that is too large to be looked into, by the mail that it came with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest
from sync_harness import doc_source

from mailroom_common.blobs import BlobStore
from mailroom_common.events import SourceFilter, SyncReason
from mailroom_common.providers.ports import MailReader
from mailroom_common.providers.types import Message, MessageSummary, Part, PartKind
from sync_engine.domain.mail_allowance import MailAllowance
from sync_engine.domain.mail_filter import MailRejection
from sync_engine.domain.message_records import SkippedPart, SyncState
from sync_engine.domain.parts import MAX_CONTAINER_BYTES, MAX_PART_BYTES
from sync_engine.domain.run_planning import SyncTimings
from sync_engine.handlers.store_part import StorePart
from sync_engine.handlers.sync_run import SyncRun, build_mailbox
from sync_engine.ports import ContainerOpener, Uploads

PDF = Part(part_path="1", kind=PartKind.FILE, filename="4711.pdf", content_type="application/pdf")
LARGE_PDF = replace(PDF, size_bytes=2 * MAX_PART_BYTES)
RETURNED_MAIL = Part(part_path="2", kind=PartKind.MESSAGE, filename=None, content_type="message/rfc822")
LENIENT, STRICT = SourceFilter(), SourceFilter(strictness="strict")


class EndlessPart:
    @asynccontextmanager
    async def open_part(self, *_which: object) -> AsyncIterator[AsyncIterator[bytes]]:
        async def yield_pages() -> AsyncIterator[bytes]:
            yield b"%PDF-1.4" + b" " * MAX_CONTAINER_BYTES

        yield yield_pages()


class Uncounted:
    """Takes what is announced, and reads what is written to its end."""

    async def record_upload_start(self, *_which: object) -> None: ...

    async def delete_upload_record(self, *_which: object) -> None: ...

    async def write_blob(self, _key: str, chunks: AsyncIterator[bytes], **_how: object) -> None:
        async for _ in chunks:
            pass


async def find_reason(part: Part, rejection: MailRejection | None, rules: SourceFilter) -> str:
    source = doc_source(rules=rules)
    run = SyncRun(
        source=source,
        mailbox=build_mailbox(source),
        provider=cast("MailReader", EndlessPart()),
        reasons=frozenset({SyncReason.NOTIFICATION}),
        state=SyncState(source_state="active"),
        started_at=datetime.now(UTC),
        timings=SyncTimings(),
    )
    nothing = Uncounted()
    store_part = StorePart(cast("BlobStore", nothing), cast("Uploads", nothing), cast("ContainerOpener", None))
    (skipped,) = await store_part.store_part(
        run,
        Message(MessageSummary(message_id="m1"), (part,), ""),
        part,
        shown_ids=frozenset(),
        rejection=rejection,
        allowance=MailAllowance(),
    )
    assert isinstance(skipped, SkippedPart)
    return skipped.skip_reason


@pytest.mark.parametrize("part", [LARGE_PDF, PDF])
@pytest.mark.parametrize("rejection", [None, MailRejection.NEWSLETTER, MailRejection.NO_DOCUMENT_WORDS])
async def test_a_large_file_is_said_to_be_large_in_whatever_mail_it_comes(
    part: Part, rejection: MailRejection | None
) -> None:
    assert await find_reason(part, rejection, LENIENT) == "too_large"


async def test_nobody_misses_a_large_file_of_a_mail_that_the_operator_left_out() -> None:
    denied = await find_reason(LARGE_PDF, MailRejection.SENDER_DENIED, LENIENT)
    strict = await find_reason(LARGE_PDF, MailRejection.NO_DOCUMENT_WORDS, STRICT)
    assert (denied, strict) == ("rejected_mail:sender_denied", "rejected_mail:no_document_words")


async def test_nobody_misses_a_large_mail_that_this_mailbox_sent() -> None:
    returned = replace(RETURNED_MAIL, size_bytes=2 * MAX_CONTAINER_BYTES)
    assert await find_reason(returned, MailRejection.BOUNCE, LENIENT) == "rejected_mail:bounce"

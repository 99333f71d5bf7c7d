"""What a transaction writes: which parts count as stored, and when there is nothing to write."""

import pytest

from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.cursor import Cursor
from sync_engine.domain.message_records import (
    FailedMessage,
    MessageState,
    PageUpdate,
    ProcessedMessage,
    SkippedPart,
    StoredPart,
)

STORED = StoredPart(
    part_path="1",
    attachment_id="a",
    filename="invoice.pdf",
    content_type="application/pdf",
    size_bytes=1,
    content_sha256="0",
    blob_key="k",
)
SKIPPED = SkippedPart(part_path="2", filename=None, content_type=None, size_bytes=None, skip_reason="empty")
MESSAGE = ProcessedMessage(
    summary=MessageSummary(message_id="m"), state=MessageState.OPEN, parts=(SKIPPED, STORED, SKIPPED)
)
FAILED = FailedMessage(message_id="m", reason="unavailable", detail="503")


def test_the_stored_parts_of_a_message_are_those_with_a_blob() -> None:
    assert MESSAGE.stored_parts == (STORED,)


@pytest.mark.parametrize(
    ("update", "is_empty"),
    [
        (PageUpdate(), True),
        (PageUpdate(read_cursor=Cursor(scope="s"), next_cursor=Cursor(scope="s")), True),
        (PageUpdate(messages=(MESSAGE,)), False),
        (PageUpdate(failed=(FAILED,)), False),
        (PageUpdate(resolved_item_ids=("m",)), False),
    ],
)
def test_an_update_is_empty_when_it_writes_nothing_of_any_message(update: PageUpdate, is_empty: bool) -> None:
    assert update.is_empty is is_empty

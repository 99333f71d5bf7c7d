"""Of a mail that is judged anew, what was judged before stays; its contents count as the container's."""

from dataclasses import replace

import pytest

from mailroom_common.providers.types import Part, PartKind
from sync_engine.domain.judged_parts import (
    find_empty_parts,
    find_missing_parts,
    find_replaced_paths,
    has_new_part,
    leave_out_empty,
    select_parts_to_judge,
)
from sync_engine.domain.message_records import RecordedPart

LISTED = Part(part_path="1", kind=PartKind.FILE, filename="a.txt", content_type="text/plain", size_bytes=7)
SKIPPED = RecordedPart(
    part_path="1",
    filename="a.txt",
    content_type="text/plain",
    size_bytes=7,
    is_stored=False,
    skip_reason="not_a_document",
    is_parked=False,
)
STORED = replace(SKIPPED, is_stored=True, skip_reason=None, size_bytes=6)
PARKED = replace(SKIPPED, is_parked=True, skip_reason=None)
CONTENT = replace(SKIPPED, part_path="1/0", filename="b.txt")


@pytest.mark.parametrize(
    ("listed", "recorded", "is_new"),
    [
        (LISTED, [SKIPPED], False),
        (LISTED, [PARKED], False),
        (replace(LISTED, size_bytes=8), [SKIPPED], True),
        (replace(LISTED, filename="a.pdf"), [SKIPPED], True),
        (replace(LISTED, part_path="2"), [SKIPPED], True),
        (LISTED, [], True),
        (replace(LISTED, size_bytes=8), [STORED], False),
        (LISTED, [CONTENT], False),
        (LISTED, [replace(CONTENT, part_path="10/0")], True),
        (LISTED, [replace(SKIPPED, skip_reason="gone")], True),
    ],
)
def test_a_part_is_new_by_its_id_its_name_or_its_size_or_when_it_was_gone(
    listed: Part, recorded: list[RecordedPart], is_new: bool
) -> None:
    assert has_new_part([listed], recorded) is is_new
    assert select_parts_to_judge([listed], recorded) == ([listed] if is_new or PARKED in recorded else [])


def test_what_was_left_unread_for_its_mails_sake_is_judged_again_and_is_not_new() -> None:
    recorded = [replace(SKIPPED, skip_reason="rejected_mail:sender_denied")]
    assert not has_new_part([LISTED], recorded)
    assert select_parts_to_judge([LISTED], recorded) == [LISTED]


def test_records_of_what_is_judged_or_missing_are_replaced_and_stored_ones_never() -> None:
    other = replace(LISTED, part_path="2")
    recorded = [
        SKIPPED,
        CONTENT,
        replace(CONTENT, part_path="1/1", is_stored=True),
        replace(SKIPPED, part_path="2"),
        replace(SKIPPED, part_path="3"),
        replace(PARKED, part_path="4"),
        replace(STORED, part_path="5"),
        replace(SKIPPED, part_path="6", skip_reason="gone"),
    ]
    assert find_replaced_paths([LISTED, other], [LISTED], recorded) == ("1", "1/0", "3", "4", "6")
    assert [record.part_path for record in find_missing_parts([LISTED, other], recorded)] == ["4", "6"]


def test_what_was_opened_and_left_nothing_behind_is_empty_until_it_has_another_name_or_size() -> None:
    opened = [replace(LISTED, part_path=path) for path in ("1", "2", "3", "30")]
    empty = find_empty_parts(opened, ["1", "3/0/1", "2x"])
    assert [part.part_path for part in empty] == ["2", "30"]
    assert [part.part_path for part in leave_out_empty(opened, empty)] == ["1", "3"]
    changed = [replace(opened[1], size_bytes=8), replace(opened[3], filename="b.txt")]
    assert leave_out_empty(changed, empty) == changed

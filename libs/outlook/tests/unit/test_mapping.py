from typing import Any

import pytest
from odd_json_values import ODD_JSON_VALUES

from mailroom_common.providers.types import OMITTED_PARTS, MessageSummary, PartKind
from mailroom_common.providers.untrusted_text import MAX_PARTS
from mailroom_outlook.mapping import (
    build_changes,
    build_listed_summaries,
    build_parts,
    build_summary,
    read_html,
    read_translated_ids,
)

LONG = "a" * 100_000
MESSAGE: dict[str, Any] = {
    "id": "AAMk1=",
    "receivedDateTime": "2026-11-28T10:00:00Z",
    "lastModifiedDateTime": "2026-11-28T10:00:00Z",
    "internetMessageId": LONG,
    "conversationId": LONG,
    "subject": LONG,
    "from": {"emailAddress": {"name": LONG, "address": LONG}},
    "isRead": True,
    "isDraft": False,
    "importance": LONG,
    "flag": {"flagStatus": LONG},
    "hasAttachments": True,
    "categories": [LONG] * 1000,
    "parentFolderId": "inbox-id",
    "changeKey": LONG,
    "internetMessageHeaders": [{"name": "List-Id", "value": LONG}],
    "body": {"contentType": "html", "content": LONG * 30},
}
ATTACHMENT: dict[str, Any] = {
    "@odata.type": "#microsoft.graph.fileAttachment",
    "id": "att=",
    "name": LONG + ".pdf",
    "contentType": LONG,
    "size": 7,
    "isInline": False,
    "contentId": LONG,
}
ODD_VALUES = (*ODD_JSON_VALUES, {"emailAddress": 7})


def list_texts(summary: MessageSummary) -> list[str]:
    values = [getattr(summary, name) for name in MessageSummary.__slots__]
    return [value for value in values if isinstance(value, str)] + list(summary.categories)


def test_every_text_of_a_message_is_cut_where_it_is_mapped() -> None:
    summary = build_summary(MESSAGE)
    assert {len(text) for text in list_texts(summary)} == {len("AAMk1="), len("inbox-id"), 1000}
    assert len(summary.categories) == 100
    assert summary.headers == {"list-id": "a" * 1000}
    assert len(read_html(MESSAGE)) == 2_000_000


def test_every_text_of_a_part_is_cut_where_it_is_mapped() -> None:
    (part,) = build_parts([ATTACHMENT])
    assert part.filename is not None
    assert (len(part.filename), part.filename[-5:]) == (1000, "a.pdf")
    assert part.content_type == part.content_id == "a" * 1000


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("member", sorted(MESSAGE.keys() - {"id"}))
def test_an_odd_member_costs_that_member_alone(member: str, value: object) -> None:
    odd = MESSAGE | {member: value}
    (listed,) = build_listed_summaries([odd])
    assert listed.message_id == "AAMk1="
    assert listed.is_read is (value if member == "isRead" and value is not True else True) or member == "isRead"
    assert (listed.subject is None) <= (member == "subject")
    assert isinstance(read_html(odd), str)
    for text in list_texts(listed):
        assert "\x00" not in text
        text.encode()


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ({"flagStatus": "notFlagged"}, "not_flagged"),
        ({"flagStatus": "flagged", "startDateTime": {"dateTime": "2026-11-28T00:00:00", "timeZone": "UTC"}}, "flagged"),
        ({"flagStatus": "complete"}, "complete"),
        ({"flagStatus": "snoozed"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_a_flag_that_is_none_of_ours_is_unknown(flag: object, expected: str | None) -> None:
    assert build_summary(MESSAGE | {"flag": flag}).flag == expected


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("member", sorted(ATTACHMENT))
def test_an_attachment_in_an_odd_form_is_shown_beside_the_others(member: str, value: object) -> None:
    odd, other = build_parts([ATTACHMENT | {member: value}, ATTACHMENT | {"id": "other"}])
    assert other.part_path == "other"
    assert odd.part_path
    assert (odd.kind is PartKind.UNAVAILABLE) == (odd.handle is None)


def test_an_attachment_that_two_pages_show_is_one_part() -> None:
    assert [part.part_path for part in build_parts([ATTACHMENT, {"id": "b"}, ATTACHMENT])] == ["att=", "b"]


def test_of_a_mail_with_very_many_parts_the_first_are_kept_and_one_stands_for_the_others() -> None:
    attachments = [ATTACHMENT | {"id": str(number)} for number in range(MAX_PARTS + 2)]
    assert OMITTED_PARTS not in build_parts([*attachments[:MAX_PARTS], attachments[0]])
    *kept, last = build_parts(attachments)
    assert [part.part_path for part in kept] == [str(number) for number in range(MAX_PARTS)]
    assert last == OMITTED_PARTS


@pytest.mark.parametrize("item", [{}, {"id": None}, {"id": "a" * 5000}, {"id": 7, "@removed": {}}])
def test_what_has_no_id_hides_nothing_else(item: dict[str, Any]) -> None:
    assert [change.message_id for change in build_changes([item, MESSAGE])] == ["AAMk1="]
    assert [summary.message_id for summary in build_listed_summaries([item, MESSAGE])] == ["AAMk1="]


def test_ids_that_are_not_translated_are_left_out() -> None:
    answer = {
        "value": [
            {"sourceId": "immutable-1", "targetId": "default-1"},
            {"sourceId": "immutable-2", "errorDetails": {"code": "ErrorItemNotFound"}},
            {"sourceId": "immutable-3", "targetId": None},
        ]
    }
    assert read_translated_ids(answer) == {"immutable-1": "default-1"}

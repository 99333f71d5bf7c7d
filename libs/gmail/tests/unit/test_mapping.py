import encodings
import json
from typing import Any

import pytest
from fault_samples import FAULT_SAMPLES
from odd_json_values import ODD_JSON_VALUES

from mailroom_common.providers.types import OMITTED_PARTS, LabelChanges, PartKind
from mailroom_common.providers.untrusted_text import MAX_PARTS
from mailroom_gmail.mapping import (
    build_changes,
    build_parts,
    build_summary,
    decode_text,
    find_html_parts,
    list_ids,
    read_codec,
)


@pytest.mark.parametrize(
    "value",
    [
        "text/html; charset=a\0b",
        "text/html; charset*=a\0b''x; charset=utf-8",
        "text/html; charset*=utf-8''a; charset*0*=b",
        "text/html; charset*0*=x'y'\u00e9; charset*=a'b'c",
        "text/html; charset=undefined",
        "text/html; charset=rot13",
    ],
)
def test_a_charset_that_nobody_can_read_leaves_the_text_readable(value: str) -> None:
    part = {"headers": [{"name": "Content-Type", "value": value}]}
    assert read_codec(part) in {"latin-1", "utf_8"}
    assert decode_text(part, b"R\xe9sum\xe9") == "Résumé"


@pytest.mark.parametrize(("labels", "expected"), [(["INBOX", "STARRED"], "flagged"), (["INBOX"], "not_flagged")])
def test_a_star_is_a_flag(labels: list[str], expected: str) -> None:
    assert build_summary({"id": "m", "labelIds": labels}).flag == expected


@pytest.mark.parametrize("value", ["text/html; charset*=no-such-{}''a", "text/html; charset*0*=no-such-{}''a"])
def test_a_charset_that_a_parameter_is_said_to_be_in_is_never_looked_up(value: str) -> None:
    # Python remembers each name that it did not find, for ever.
    known: dict[str, object] = vars(encodings)["_cache"]
    before = set(known)
    for number in range(3):
        part = {"headers": [{"name": "Content-Type", "value": value.format(number)}]}
        assert read_codec(part) == "latin-1"
        assert decode_text(part, b"R\xe9sum\xe9") == "Résumé"
    assert set(known) == before


def test_a_charset_in_extended_notation_is_read() -> None:
    part = {"headers": [{"name": "Content-Type", "value": "text/plain; charset*=us-ascii'en'iso-8859-2"}]}
    assert decode_text(part, b"\xb3") == "ł"


LONG = "a" * 100_000
ODD_VALUES = (*ODD_JSON_VALUES, {"parts": 7})


def header(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


def leaf(part_id: str, mime_type: str, filename: str = "", *headers: dict[str, str], **body: object) -> dict[str, Any]:
    return {
        "partId": part_id,
        "mimeType": mime_type,
        "filename": filename,
        "headers": list(headers),
        "body": {"attachmentId": "ANG", "size": 1759} | body,
    }


MESSAGE: dict[str, Any] = {
    "id": "18c0",
    "threadId": LONG,
    "labelIds": ["INBOX"],
    "internalDate": "1795887800000",
    "historyId": "77",
    "payload": {
        "partId": "",
        "mimeType": "multipart/mixed",
        "filename": "",
        "headers": [header("Subject", LONG), header("From", LONG + " <a@b.example>"), header("Message-ID", LONG)],
        "body": {"size": 0},
        "parts": [leaf("0", "text/plain", data="QW5iZWk"), leaf("1", LONG, LONG + ".pdf", header("Content-Id", LONG))],
    },
}


def test_every_text_is_cut_where_it_is_mapped() -> None:
    summary = build_summary(MESSAGE)
    assert summary.subject == summary.internet_message_id == summary.conversation_id == "a" * 1000
    assert summary.sender_address == "a@b.example"
    (part,) = build_parts(MESSAGE["payload"])
    assert part.filename is not None
    assert (len(part.filename), part.filename[-5:]) == (1000, "a.pdf")
    assert part.content_type == part.content_id == "a" * 1000


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("member", sorted(MESSAGE.keys() - {"id"}))
def test_an_odd_member_of_a_message_costs_that_member_alone(member: str, value: object) -> None:
    summary = build_summary(MESSAGE | {member: value})
    assert summary.message_id == "18c0"
    assert (summary.subject is None) <= (member == "payload")


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("member", ["partId", "mimeType", "filename", "headers", "body", "parts"])
def test_a_part_in_an_odd_form_is_shown_beside_the_others(member: str, value: object) -> None:
    odd = leaf("0", "application/pdf", "r.pdf", header("Content-Disposition", "attachment")) | {member: value}
    payload = {"mimeType": "multipart/mixed", "parts": [odd, leaf("1", "application/pdf", "other.pdf")]}
    shown = build_parts(payload)
    assert [part.part_path for part in shown] == ["0", "1"] or (member == "partId" and len(shown) == 2)
    assert shown[-1].filename == "other.pdf"


def test_part_ids_that_are_missing_or_doubled_are_replaced_by_positions() -> None:
    inner = {"mimeType": "multipart/mixed", "parts": [leaf("7", "image/png"), leaf("7", "image/png")]}
    payload = {"mimeType": "multipart/mixed", "parts": [leaf("7", "application/pdf"), inner]}
    assert [part.part_path for part in build_parts(payload)] == ["0", "1.0", "1.1"]


def test_a_file_declared_as_a_container_is_a_part() -> None:
    declared = header("Content-Disposition", "attachment; filename=r.pdf")
    parts = [leaf("0", "text/plain", data="QW5iZWk"), leaf("1", "multipart/mixed", "r.pdf", declared)]
    payload = {"mimeType": "multipart/mixed", "headers": [], "body": {"size": 0}, "parts": parts}
    (part,) = build_parts(payload)
    assert (part.part_path, part.filename, part.handle) == ("1", "r.pdf", "ANG")
    assert build_summary({"id": "a", "payload": payload}).has_attachments


def test_a_pdf_that_is_declared_a_container_is_a_part_of_the_sample() -> None:
    sample = json.loads((FAULT_SAMPLES / "wrongly-declared-attachment" / "gmail-message.json").read_bytes())
    assert [(part.filename, part.handle) for part in build_parts(sample["payload"])] == [("r.pdf", "ANGjdJ8")]


def test_bytes_that_cannot_be_decoded_are_their_parts_trouble_alone() -> None:
    parts = [leaf("0", "image/png", attachmentId=None, data="<b>"), leaf("1", "application/pdf")]
    assert [part.handle for part in build_parts({"mimeType": "multipart/mixed", "parts": parts})] == [None, "ANG"]


@pytest.mark.parametrize(
    ("mime_type", "disposition", "is_part"),
    [
        ("text/plain", None, False),
        ("text/html", "inline", False),
        ("text/calendar", None, False),
        ("message/delivery-status", None, False),
        ("text/rfc822-headers", None, False),
        ("text/plain", "attachment", True),
        ("text/csv", None, True),
        ("text/xml", "inline", True),
        ("application/pdf", None, True),
        ("image/png", "inline", True),
        ("multipart/mixed", None, True),
        ("message/rfc822", None, True),
    ],
)
def test_a_part_without_a_name_is_a_body_or_offered_by_its_type(
    mime_type: str, disposition: str | None, is_part: bool
) -> None:
    headers = [header("Content-Disposition", disposition)] if disposition else []
    payload = {"mimeType": "multipart/mixed", "parts": [leaf("0", mime_type, "", *headers)]}
    assert len(build_parts(payload)) == is_part


def test_an_attached_mail_without_a_name_is_called_by_its_subject() -> None:
    inner = {"partId": "0.0", "mimeType": "text/plain", "headers": [header("Subject", "=?utf-8?q?F=C3=BCr?= Sie")]}
    payload = {"mimeType": "multipart/mixed", "parts": [leaf("0", "message/rfc822") | {"parts": [inner]}]}
    assert [part.filename for part in build_parts(payload)] == ["Für Sie"]


def test_what_has_no_id_hides_nothing_else() -> None:
    assert list_ids([{}, None, {"id": "a" * 5000}, {"id": "b"}]) == ["b"]
    odd: dict[str, Any] = {
        "id": "1",
        "messagesAdded": [None, {"message": None}, {"message": {}}, {"message": {"id": "b"}}],
    }
    assert [change.message_id for change in build_changes([odd, {"messagesAdded": 7}])] == ["b"]


def test_of_a_mail_with_very_many_parts_the_first_are_kept_and_one_stands_for_the_others() -> None:
    leaves = [leaf(str(number), "application/pdf", f"{number}.pdf") for number in range(MAX_PARTS + 2)]
    for count in (MAX_PARTS - 1, MAX_PARTS):
        assert OMITTED_PARTS not in build_parts({"mimeType": "multipart/mixed", "parts": leaves[:count]})
    *kept, last = build_parts({"mimeType": "multipart/mixed", "parts": leaves})
    assert [part.filename for part in kept] == [f"{number}.pdf" for number in range(MAX_PARTS)]
    assert last == OMITTED_PARTS
    assert last.kind is PartKind.OMITTED


def test_of_very_many_html_texts_the_first_are_read() -> None:
    texts = [{"mimeType": "text/html", "body": {"data": "YQ"}}] * (MAX_PARTS + 1)
    assert len(find_html_parts({"mimeType": "multipart/mixed", "parts": texts})) == MAX_PARTS


@pytest.mark.parametrize("part_id", ["9" * 3000, "\x00" * 3000, ""])
def test_a_part_id_that_no_key_can_hold_is_replaced_by_the_position(part_id: str) -> None:
    leaves = [leaf(part_id, "application/pdf", "a.pdf"), leaf("7", "application/pdf", "b.pdf")]
    assert [part.part_path for part in build_parts({"mimeType": "multipart/mixed", "parts": leaves})] == ["0", "1"]


def test_a_position_that_no_key_can_hold_is_hashed() -> None:
    nested: dict[str, Any] = {"mimeType": "multipart/mixed", "parts": [leaf("", "application/pdf", "a.pdf")] * 2}
    for _ in range(1000):
        nested = {"mimeType": "multipart/mixed", "parts": [nested]}
    first, second = (part.part_path for part in build_parts(nested))
    assert first != second
    assert len(first) == len(second) == 64


def test_label_changes_of_a_page_are_told_together_and_of_no_mail_that_may_be_new() -> None:
    def entry(message_id: str, *labels: str) -> dict[str, Any]:
        return {"message": {"id": message_id}, **({"labelIds": list(labels)} if labels else {})}

    records = [
        {"id": "1", "labelsAdded": [entry("a", "TRASH"), entry("new", "STARRED")]},
        {"id": "2", "labelsRemoved": [entry("a", "TRASH", "INBOX"), entry("unclear")]},
        {"id": "3", "messagesAdded": [entry("new"), entry("listed")]},
        {"id": "4", "labelsAdded": [entry("listed", "STARRED"), entry("unclear", "STARRED")]},
    ]
    assert {change.message_id: change.label_changes for change in build_changes(records)} == {
        "a": LabelChanges(frozenset({"TRASH"}), frozenset({"TRASH", "INBOX"})),
        "new": None,
        "listed": None,
        "unclear": None,
    }

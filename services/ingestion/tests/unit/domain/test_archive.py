from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ingestion_fakes import build_attachment

from ingestion.domain.archive import (
    build_archive_metadata,
    build_archive_paths,
    build_trade_key,
    encode_sender_address,
    parse_sender_address,
    sanitize_file_stem,
)
from mailroom_common.blobs.store import validate_key

TODAY = date(2026, 4, 2)


def test_the_path_says_who_when_and_which_mail() -> None:
    attachment = build_attachment(
        sender_address="Anna <Anna.B+x@shop.example>",
        message_id="AAMk1",
        filename="Rechnung 7.PDF",
        received_at=datetime(2026, 4, 1, 23, 59, tzinfo=UTC),
    )
    unique = sha256(b"AAMk1").hexdigest()[:16]
    folder = f"archive/sender_email=anna%2Eb%2Bx%40shop%2Eexample/received_date=2026-04-01/{unique}"
    first, second = build_archive_paths(attachment, taken_on=TODAY)
    assert first == f"{folder}/Rechnung 7.pdf"
    assert second == f"{folder}/Rechnung 7-{attachment.attachment_id}.pdf"


def test_what_the_mail_does_not_say_has_a_place_too() -> None:
    attachment = build_attachment(sender_address=None, filename=None, received_at=None)
    assert "sender_email=unknown/received_date=2026-04-02/" in next(build_archive_paths(attachment, taken_on=TODAY))
    assert next(build_archive_paths(attachment, taken_on=TODAY)).endswith("/document.pdf")


@given(st.emails())
def test_an_encoded_address_has_no_other_signs_and_can_be_read_back(address: str) -> None:
    encoded = encode_sender_address(address)
    assert all(sign.isalnum() or sign in "-_~%" for sign in encoded)
    assert unquote(encoded) == address.lower() or len(encoded) == 200


@pytest.mark.parametrize(
    ("filename", "stem"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\x\\invoice.pdf", "invoice"),
        ("a\x00b\n.pdf", "ab"),
        ("..", "document"),
        (".pdf", "pdf"),
        ("Invoice 1.2 final", "Invoice 1.2 final"),
        ("é" * 200 + ".pdf", "é" * 60),
    ],
)
def test_an_untrusted_file_name_becomes_a_plain_one(filename: str, stem: str) -> None:
    assert sanitize_file_stem(filename) == stem


def test_a_sender_of_nested_comments_is_no_address() -> None:
    assert parse_sender_address("(" * 5_000 + ")" * 5_000 + " anna@a.example") == ""


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_name_or_sender_leads_out_of_the_archive(filename: str, sender: str) -> None:
    for path in build_archive_paths(build_attachment(filename=filename, sender_address=sender), taken_on=TODAY):
        assert validate_key(path).startswith("archive/sender_email=")
        assert len(path.split("/")) == 5
        assert all(len(step.encode()) <= 255 for step in path.split("/"))


def test_metadata_is_what_the_archive_promises_in_ascii() -> None:
    now = datetime(2026, 4, 2, 8, 0, tzinfo=UTC)
    attachment = build_attachment(sender_address="a@b.example")
    assert build_archive_metadata(attachment, source="manual_upload", processed_at=now) == {
        "sender-email": "a@b.example",
        "source": "manual_upload",
        "processed-at": "2026-04-02T08:00:00.000Z",
    }
    foreign = replace(attachment, sender_address="ä@b.example")
    assert build_archive_metadata(foreign, source="manual_upload", processed_at=now)["sender-email"].isascii()


@given(st.text(max_size=3000))
@example("ä" * 250 + "@b.example")
@example("a" * 3000 + "@b.example")
@example("x" + "漢" * 400 + "@b.example")
def test_metadata_is_less_than_s3_takes_and_splits_no_character(sender: str) -> None:
    metadata = build_archive_metadata(
        build_attachment(sender_address=sender),
        source="manual_upload",
        processed_at=datetime(2026, 4, 2, 8, 0, tzinfo=UTC),
    )
    assert sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items()) < 2048
    written = metadata["sender-email"]
    assert written.isascii()
    assert parse_sender_address(sender).startswith((written, unquote(written, errors="strict")))


@pytest.mark.parametrize(
    ("sender", "length"),
    [
        ("a" * 3000 + "@b.example", 1000),
        ("ä" * 3000 + "@b.example", 996),  # `%C3%A4` is six signs, and none of them is left alone
    ],
)
def test_metadata_has_as_much_of_a_long_address_as_there_is_room_for(sender: str, length: int) -> None:
    attachment = build_attachment(sender_address=sender)
    now = datetime(2026, 4, 2, 8, 0, tzinfo=UTC)
    assert len(build_archive_metadata(attachment, source="mail", processed_at=now)["sender-email"]) == length


def test_the_folder_of_a_long_address_has_its_first_200_signs() -> None:
    assert encode_sender_address("a" * 300 + "@b.example") == "a" * 200


@dataclass(frozen=True)
class Trade:
    account_name: str | None = "anna"
    trade_date: date | None = date(2026, 4, 1)
    ticker: str | None = "SAP"
    isin: str | None = "DE0007164600"
    direction: str | None = "buy"
    quantity: Decimal | None = Decimal(100)


@pytest.mark.parametrize(
    ("trades", "key"),
    [
        ([Trade()], "anna-20260401-SAP-buy-100"),
        ([Trade(ticker=None)], "anna-20260401-DE0007164600-buy-100"),
        ([Trade(account_name=None)], "box%40bank%2Eexample-20260401-SAP-buy-100"),
        ([Trade(quantity=Decimal("1E+2"))], "anna-20260401-SAP-buy-100"),
        ([Trade(quantity=Decimal("0.1250"))], "anna-20260401-SAP-buy-0%2E125"),
        ([Trade(), Trade(ticker="IBM")], "anna-20260401-SAP-buy-100"),
        ([Trade(account_name="Anna-Maria / ../x")], "Anna%2DMaria%20%2F%20%2E%2E%2Fx-20260401-SAP-buy-100"),
        ([Trade(ticker=None, isin=None)], None),
        ([Trade(trade_date=None)], None),
        ([], None),
    ],
)
def test_the_key_of_a_trade_is_that_of_the_first_one_and_never_half_of_one(
    trades: list[Trade], key: str | None
) -> None:
    assert build_trade_key(trades, sender="Bank <box@bank.example>") == key


@given(st.text(), st.text(), st.text())
def test_a_key_is_one_step_of_a_path_whatever_the_note_says(account: str, ticker: str, direction: str) -> None:
    key = build_trade_key([Trade(account, ticker=ticker, isin=None, direction=direction)], sender=None)
    if key is not None:
        assert validate_key(key) == key
        assert "/" not in key
        assert unquote(key, errors="replace").isprintable() or "%" in key
        assert key.count("-") == 4
        assert len(key) <= 255

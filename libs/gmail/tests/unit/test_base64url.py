import base64
import json
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailroom_common.errors import ProviderUnavailable
from mailroom_gmail.base64url import decode, member_bytes


async def pieces(raw: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(raw), size):
        yield raw[start : start + size]


async def read(raw: bytes, size: int = 7) -> bytes:
    return b"".join([chunk async for chunk in member_bytes(pieces(raw, size), "data")])


@given(
    content=st.binary(max_size=300),
    size=st.integers(1, 64),
    padded=st.booleans(),
    standard=st.booleans(),
    escaped=st.booleans(),
    before=st.dictionaries(st.sampled_from(["size", "attachmentId", 'da"ta', "x"]), st.text(max_size=10)),
)
async def test_any_content_in_any_pieces_decodes_to_itself(
    content: bytes, size: int, padded: bool, standard: bool, escaped: bool, before: dict[str, str]
) -> None:
    text = (base64.b64encode if standard else base64.urlsafe_b64encode)(content).decode()
    text = text if padded else text.rstrip("=")
    raw = json.dumps({**before, "nested": {"data": "wrong"}, "data": text, "after": "x"})
    if escaped:
        raw = (
            raw.replace(text, text.replace("/", "\\/").replace("=", "\\u003d").replace("A", "\\u0041")) if text else raw
        )
    assert await read(raw.encode(), size) == content


async def test_absent_member_is_no_bytes() -> None:
    assert await read(b'{"size": 0}') == b""
    assert await read(b'{"size": 0, "data": null}') == b""


@pytest.mark.parametrize(
    "raw",
    [
        b'{"size": 3, "data": "QUJ',
        b'{"size": 3, ',
        b'{"data": "QUJD\\u00',
        b"",
        b'{"data": "Q"}',
        b'{"data": "<b>"}',
        b'{"data": "QU\\ud83dJD"}',
    ],
)
async def test_answer_that_is_cut_off_or_no_base64_is_the_providers_trouble(raw: bytes) -> None:
    with pytest.raises(ProviderUnavailable):
        await read(raw)


async def test_answer_without_the_member_is_not_gathered_for_ever() -> None:
    with pytest.raises(ProviderUnavailable, match="no attachment"):
        await read(b'{"other": "' + b"x" * 1_000_000, size=65536)


def test_padding_may_be_missing() -> None:
    assert [decode("QQ"), decode("QQ=="), decode("QUI"), decode("-_8"), decode("")] == [
        b"A",
        b"A",
        b"AB",
        b"\xfb\xff",
        b"",
    ]


async def test_large_content_is_decoded_in_pieces() -> None:
    content = bytes(range(256)) * 4096
    raw = b'{"data": "' + base64.urlsafe_b64encode(content) + b'"}'
    chunks = [chunk async for chunk in member_bytes(pieces(raw, 16384), "data")]
    assert b"".join(chunks) == content
    assert max(map(len, chunks)) <= 16384

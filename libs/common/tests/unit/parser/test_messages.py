import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailroom_common.parser import JSON
from mailroom_common.parser.messages import LENGTH_PREFIX, decode_message, encode_message

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_a_message_survives_the_pipe_behind_its_length(message: JSON) -> None:
    encoded = encode_message(message)
    (length,) = LENGTH_PREFIX.unpack(encoded[: LENGTH_PREFIX.size])
    body = encoded[LENGTH_PREFIX.size :]
    assert len(body) == length
    assert decode_message(body) == message


@pytest.mark.parametrize("text", ["\ud800", "before \udfff after"])
def test_a_lone_surrogate_of_a_file_loses_only_itself(text: str) -> None:
    decoded = decode_message(encode_message({"text": text})[LENGTH_PREFIX.size :])
    assert isinstance(decoded, dict)
    assert str(decoded["text"]).replace("\ufffd", "") == text.replace("\ud800", "").replace("\udfff", "")


@pytest.mark.parametrize("body", [b"NaN", b"-Infinity", b'"\\ud800"', b"[" * 2000 + b"]" * 2000, b"{", b""])
def test_what_no_process_of_ours_writes_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):  # whatever the library says
        decode_message(body)


def test_a_number_that_json_does_not_have_is_not_written() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        encode_message(float("nan"))

import pytest

from mailroom_gmail.mapping import decode_text, read_charset


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
    assert read_charset(part)
    assert decode_text(part, b"R\xe9sum\xe9") == "Résumé"

import codecs

import pytest

from mailroom_common.providers.charsets import find_codec


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("UTF-8", "utf_8"),
        ("us-ascii", "ascii"),
        ("iso-8859-1", "latin_1"),
        ("ISO_8859-15", "iso8859_15"),
        ("Windows-1252", "cp1252"),
        ("ks_c_5601-1987", "cp949"),
        ("iso-8859-8-i", "iso8859_8"),
        ("gb2312", "gb2312"),
        ("iso-2022-jp", "iso2022_jp"),
        ("macintosh", "mac_roman"),
    ],
)
def test_charsets_of_mails_have_their_codec(charset: str, codec: str) -> None:
    assert find_codec(charset) == codec
    codecs.lookup(codec)


@pytest.mark.parametrize(
    "charset",
    [
        "punycode",
        "idna",
        "unicode_escape",
        "raw_unicode_escape",
        "rot13",
        "base64",
        "zlib",
        "undefined",
        "mbcs",
        "",
        "ü",
    ],
)
def test_no_other_codec_of_python_is_used(charset: str) -> None:
    assert find_codec(charset) is None


def test_a_name_without_end_is_not_looked_up() -> None:
    assert find_codec("utf-8" + " " * 100_000) is None

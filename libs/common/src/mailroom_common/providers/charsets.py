"""The character sets that mails are written in, by their Python codecs. A mail may name any codec: others are not used.

Python has more codecs than there are character sets (`punycode` takes quadratic time, `unicode_escape` reads escapes),
looks a name up by importing a module of that name, and remembers each name it did not find.
"""

from encodings import normalize_encoding
from encodings.aliases import aliases

_MAX_NAME_CHARACTERS = 40
_CODECS = frozenset(
    {"ascii", "utf_7", "utf_8", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "latin_1", "koi8_r", "koi8_t", "koi8_u"}
    | {f"iso8859_{number}" for number in range(1, 17) if number != 12}
    | {f"cp{number}" for number in (*range(1250, 1259), 437, 850, 852, 855, 858, 862, 866, 874, 932, 936, 949, 950)}
    | {"mac_cyrillic", "mac_greek", "mac_latin2", "mac_roman", "mac_turkish", "ptcp154", "tis_620"}
    | {"big5", "big5hkscs", "gb18030", "gb2312", "gbk", "hz", "euc_kr", "iso2022_kr", "johab"}
    | {"euc_jp", "euc_jis_2004", "euc_jisx0213", "shift_jis", "shift_jis_2004", "shift_jisx0213"}
    | {"iso2022_jp", "iso2022_jp_1", "iso2022_jp_2", "iso2022_jp_2004", "iso2022_jp_3", "iso2022_jp_ext"}
)
_CODEC_OF_NAME = {name: codec for name, codec in aliases.items() if codec in _CODECS} | {
    # Names that mails have and Python does not know.
    **{name: name for name in _CODECS},
    "cp_850": "cp850",
    "iso_8859_8_e": "iso8859_8",
    "iso_8859_8_i": "iso8859_8",
    "ks_c_5601_1987": "cp949",
    "unicode_1_1_utf_7": "utf_7",
    "windows_874": "cp874",
    "windows_949": "cp949",
    "x_gbk": "gbk",
    "x_sjis": "shift_jis",
}


def find_codec(charset: str) -> str | None:
    """The codec of a charset as a mail names it, in any letters; None for what no mail should be written in."""
    if len(charset) > _MAX_NAME_CHARACTERS or not charset.isascii():
        return None
    return _CODEC_OF_NAME.get(normalize_encoding(charset.strip()).lower())

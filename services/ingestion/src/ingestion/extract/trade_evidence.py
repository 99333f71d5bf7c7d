"""Whether the trades of a language model stand on the page: run in the parser process, since both are untrusted."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import chain
from typing import Any, BinaryIO

import orjson

from ingestion.domain.trade import Trade
from ingestion.domain.transcript import Transcript
from ingestion.extract import values
from ingestion.extract.layout_rules import limit_lines
from ingestion.extract.page_evidence import read_currencies, split_tokens, split_words
from mailroom_common.parser import JSON

_NUMBERS = ("quantity", "price", "gross_amount", "fees", "taxes", "settled_amount")
_CODES = ("isin", "wkn", "ticker", "reference", "account")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,'’]\d+)*(?!\w)")
# A blank parts thousands, or two numbers that stand beside each other: both are read.
_PARTED_BY_BLANKS = re.compile(r"(?<![\w.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?(?![\w.,])")


def check_trades(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """For each trade the names of fields whose value is nowhere on the page."""
    asked = orjson.loads(file.read())
    page = limit_lines(Transcript.from_json(asked["transcript"]))
    text = "\n".join(line.text for line in page)
    tokens, words, dates = split_tokens(text), split_words(text), values.list_possible_dates(text)
    numbers, currencies = set(_read_numbers(text)), read_currencies(page)
    unprinted = []
    for trade in map(Trade.from_json, asked["trades"]):
        names = [name for name in _CODES if (code := getattr(trade, name)) and split_tokens(code) not in tokens]
        names += ["security_name"] if _is_missing(trade.security_name, words) else []
        names += ["currency"] if trade.currency and trade.currency not in currencies else []
        names += [
            name for name in ("trade_date", "settlement_date") if (day := getattr(trade, name)) and day not in dates
        ]
        names += [name for name in _NUMBERS if (number := getattr(trade, name)) and number not in numbers]
        unprinted.append(names)
    return unprinted


def _is_missing(name: str | None, words: str) -> bool:
    # A long name runs over several lines of a cell, between which other columns stand.
    return any(f" {word} " not in words for word in split_words(name or "").split())


def _read_numbers(text: str) -> Iterator[Decimal]:
    """Every number, read with its last mark as that of decimals, and without decimals."""
    for match in chain(_NUMBER.finditer(text), _PARTED_BY_BLANKS.finditer(text)):
        *whole, last = re.split(r"\D+", match[0])
        yield Decimal("".join([*whole, last]))
        if whole:
            yield Decimal(f"{''.join(whole)}.{last}")

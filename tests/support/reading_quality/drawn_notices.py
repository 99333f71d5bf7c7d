"""What banks send besides notes of trades, drawn in seven languages: none of it may become a trade or trouble anybody.

Each is drawn as it is, below the title of a contract note where it is about a security, and with a footer that speaks
of buying and selling. The second set of words of each language is left out. Notes of trades that speak of income are
drawn too: they show that no trade is skipped.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reading_quality.drawn_notes import NOTE_LAYOUTS, NoteFacts, make_facts
from reading_quality.note_words import NOTE_COUNTRIES

_TEXTS = Path(__file__).with_name("notices.toml")

_ON_SECURITIES = frozenset({"dividend", "coupon"})  # what some banks put below the title of their notes of trades


@dataclass(frozen=True, slots=True)
class DrawnNotice:
    """`has_trade`: it is a note of a trade that speaks of income as well."""

    family: str
    is_left_out: bool
    text: str
    has_trade: bool


@dataclass(frozen=True, slots=True)
class NoticeWords:
    """`notices` are texts by kind; notices.toml says what stands in them."""

    notices: Mapping[str, str]
    footer: str
    income_footer: str


def load_notice_words() -> dict[str, list[NoticeWords]]:
    """By language: the words that rules were made on, and those that are left out."""
    return {
        language: [NoticeWords(**words) for words in sets]
        for language, sets in tomllib.loads(_TEXTS.read_text()).items()
    }


def draw_notices() -> Iterator[DrawnNotice]:
    all_words = load_notice_words()
    for number, country in enumerate(NOTE_COUNTRIES):
        for which, words in enumerate(all_words[country.language]):
            family, is_left_out = f"{country.language}-{which + 1}", which == 1
            facts = make_facts(country, country.words[which], 1 + number * 5 + which)
            for kind, template in words.notices.items():
                text = _write(template, facts)
                yield DrawnNotice(f"{family}-{kind}", is_left_out, _frame(text, words), has_trade=False)
                if kind in _ON_SECURITIES:
                    titled = f"{facts.words.title}\n{text}"
                    yield DrawnNotice(f"{family}-{kind}_below", is_left_out, _frame(titled, words), has_trade=False)
            yield from _draw_trades(facts, words, family, is_left_out=is_left_out)


def _draw_trades(facts: NoteFacts, words: NoticeWords, family: str, *, is_left_out: bool) -> Iterator[DrawnNotice]:
    for layout in NOTE_LAYOUTS:
        text, _ = layout(facts)
        name = layout.__name__.removeprefix("_lay_out_")
        footer = words.income_footer.replace(" | ", "\n")
        yield DrawnNotice(f"{family}-trade_{name}", is_left_out, f"{text}\n\n{footer}", has_trade=True)


def _frame(text: str, words: NoticeWords) -> str:
    return f"Sample Bank\nHigh Road 9\n\n{text}\n\n{words.footer.replace(' | ', chr(10))}"


def _write(template: str, facts: NoteFacts) -> str:
    name, isin = facts.security
    return template.replace(" | ", "\n").format(
        name=name,
        isin=isin,
        units=facts.units,
        rate=facts.money(facts.price, 4),
        gross=facts.money(facts.gross),
        tax=facts.money(facts.gross / 4),
        net=facts.money(facts.gross - (facts.gross / 4).quantize(facts.gross)),
        day=facts.day(facts.traded),
        later=facts.day(facts.settles),
    )

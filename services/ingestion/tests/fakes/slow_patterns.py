"""Texts for which a pattern may take a time that grows with the square of their length, or faster, read off its parts.

So it does where an endless repeat has to be followed by something that does not come, and may begin again at each
letter of what it repeats: in `/\\W*(?:item)` each bar of a row of bars begins a search to the end of the row.
"""

import random
import re
from collections.abc import Iterator, Sequence
from re import _constants as kinds  # type: ignore[attr-defined]  # not in typeshed
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_ENDLESS = 1000  # repeats: fewer are a bound
_REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT)
_LETTERS = "a1 -/.:,_(é€"
_SAMPLES = 12


def list_slow_texts(pattern: re.Pattern[str]) -> list[str]:
    """Pieces that, one behind the other, may make the pattern slow; none for most patterns."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    return list(dict.fromkeys(_find_pieces(list(tree), pattern.flags, [])))


def _find_pieces(
    items: Sequence[Any], flags: int, before: Sequence[Any], *, is_followed: bool = False
) -> Iterator[str]:
    for place, (kind, value) in enumerate(items):
        ahead = [*before, *items[:place]]
        is_held_up = is_followed or _must_match(items[place + 1 :])
        if kind in _REPEATS and value[1] >= _ENDLESS and is_held_up:
            yield from _list_pieces(ahead, value[2], flags)
        for inner in _list_inner(kind, value):
            yield from _find_pieces(inner, flags, ahead, is_followed=is_held_up)


def _list_inner(kind: Any, value: Any) -> Iterator[list[Any]]:
    if kind is kinds.SUBPATTERN:
        yield list(value[3])
    elif kind is kinds.BRANCH:
        yield from map(list, value[1])
    elif kind in _REPEATS:
        yield list(value[2])
    elif kind is kinds.ASSERT and value[0] > 0:
        yield list(value[1])


def _must_match(items: Sequence[Any]) -> bool:
    """Whether there is anything that a text may lack."""
    return any(not (kind in _REPEATS and value[0] == 0) and kind is not kinds.ASSERT_NOT for kind, value in items)


def _list_pieces(before: Sequence[Any], repeated: Any, flags: int) -> Iterator[str]:
    """Beginnings of the pattern that the repeat goes through as well, each with a letter of the repeat behind it."""
    if any(kind is kinds.AT and value in (kinds.AT_BEGINNING, kinds.AT_BEGINNING_STRING) for kind, value in before):
        return
    chance = random.Random(7)  # no secret
    whole = _compile((kinds.MAX_REPEAT, (1, kinds.MAXREPEAT, repeated)), flags)
    beginnings = {"".join(_sample(item, chance) for item in before) for _ in range(_SAMPLES)}
    bodies = {*_LETTERS, *("".join(_sample(item, chance) for item in repeated) for _ in range(_SAMPLES))}
    for piece in sorted(beginning + body for beginning in beginnings for body in bodies):
        # Blanks alone are none: the reader of pages leaves no two beside each other.
        if piece.strip() and whole.fullmatch(piece):
            yield piece


def _compile(item: Any, flags: int) -> re.Pattern[str]:
    state = parser.State()
    state.flags, state.str = flags, ""
    whole = parser.SubPattern(state, [_drop_groups(item)])
    compiled: re.Pattern[str] = re._compiler.compile(whole, flags)  # type: ignore[attr-defined]
    return compiled


def _drop_groups(item: Any) -> Any:
    """Without numbers of groups, which are those of the whole pattern."""
    kind, value = item
    if kind is kinds.SUBPATTERN:
        return kind, (None, *value[1:3], _drop_groups_of(value[3]))
    if kind is kinds.BRANCH:
        return kind, (value[0], [_drop_groups_of(one) for one in value[1]])
    if kind in _REPEATS:
        return kind, (*value[:2], _drop_groups_of(value[2]))
    if kind is kinds.GROUPREF:  # as if it were empty: as `_sample` has it
        return kinds.SUBPATTERN, (None, 0, 0, parser.SubPattern(parser.State(), []))
    return item


def _drop_groups_of(items: Any) -> Any:
    return parser.SubPattern(parser.State(), [_drop_groups(item) for item in items])


def _sample(item: Any, chance: random.Random) -> str:
    kind, value = item
    if kind is kinds.LITERAL:
        return chr(value)
    if kind is kinds.ANY:
        return "a"
    if kind is kinds.IN:
        return _sample_class(value, chance)
    if kind is kinds.BRANCH:
        return "".join(_sample(one, chance) for one in chance.choice(value[1]))
    if kind is kinds.SUBPATTERN:
        return "".join(_sample(one, chance) for one in value[3])
    if kind in _REPEATS:
        return "".join(_sample(one, chance) for _ in range(value[0]) for one in value[2])
    return ""


def _sample_class(parts: Sequence[Any], chance: random.Random) -> str:
    fitting = _list_fitting(repr(parts), tuple(parts))
    return chance.choice(fitting) if fitting else chr(_first_of(parts[0]))


_fitting: dict[str, list[str]] = {}


def _list_fitting(key: str, parts: Sequence[Any]) -> list[str]:
    if key not in _fitting:
        one = _compile((kinds.IN, list(parts)), 0)
        _fitting[key] = [letter for letter in _LETTERS if one.fullmatch(letter)]
    return _fitting[key]


def _first_of(part: Any) -> int:
    kind, value = part
    first: int = value if kind is kinds.LITERAL else value[0] if kind is kinds.RANGE else ord("a")
    return first

"""The part of OData that mail clients use: `$select`, `$expand`, `$orderby`, and filters joined by `and`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from mailroom_sandbox.provider_doubles.wire import to_ms

_CONDITION = re.compile(r"^\(*\s*([\w/]+)\s+(eq|ne|ge|gt|le|lt)\s+('(?:[^']|'')*'|[^\s()]+)\s*\)*$")
_COMPARE = {"eq": "=", "ne": "<>", "ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


class BadQuery(Exception):
    """The message is what the service would say."""


@dataclass(frozen=True, slots=True)
class Condition:
    member: str
    operator: str
    value: object

    @property
    def sql_operator(self) -> str:
        return _COMPARE[self.operator]

    def is_met(self, item: Mapping[str, object]) -> bool:
        found: object = item
        for step in self.member.split("/"):
            found = found.get(step) if isinstance(found, Mapping) else None
        if isinstance(found, str) and isinstance(self.value, str):
            same = found.lower() == self.value.lower()
        else:
            same = found == self.value
        match self.operator:
            case "eq":
                return same
            case "ne":
                return not same
            case _:
                raise BadQuery(f"Operator '{self.operator}' is not supported on '{self.member}'.")


def parse_filter(text: str | None) -> list[Condition]:
    if not text:
        return []
    conditions = []
    for piece in re.split(r"\s+and\s+(?=(?:[^']*'[^']*')*[^']*$)", text.strip()):
        found = _CONDITION.match(piece)
        if not found:
            raise BadQuery(f"Invalid filter clause: {piece}")
        member, operator, literal = found.groups()
        conditions.append(Condition(member, operator, _parse_literal(literal)))
    return conditions


def _parse_literal(literal: str) -> object:
    if literal.startswith("'"):
        return literal[1:-1].replace("''", "'")
    if literal in ("true", "false"):
        return literal == "true"
    if literal == "null":
        return None
    return parse_time(literal)


def parse_time(text: str) -> int:
    """Milliseconds. The service takes up to seven digits of a second; we keep three."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadQuery(f"The time '{text}' is not valid.") from error
    return to_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def parse_orderby(text: str | None) -> list[tuple[str, bool]]:
    """Members with whether they are descending."""
    if not text:
        return []
    order = []
    for piece in text.split(","):
        member, _, direction = piece.strip().partition(" ")
        if direction.strip() not in ("", "asc", "desc"):
            raise BadQuery(f"Invalid orderby clause: {piece}")
        order.append((member, direction.strip() == "desc"))
    return order


def split_list(text: str | None) -> list[str]:
    """Splits at commas outside of parentheses: `attachments($select=id,name),extensions`."""
    if not text:
        return []
    pieces, depth, current = [], 0, ""
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            pieces.append(current.strip())
            current = ""
        else:
            current += letter
    return [piece for piece in [*pieces, current.strip()] if piece]


def parse_expand(text: str | None) -> dict[str, list[str]]:
    """Each expanded member, in lower case, with its own `$select` (empty: everything)."""
    expanded = {}
    for piece in split_list(text):
        member, _, options = piece.partition("(")
        selected = re.search(r"\$select=([^;)]*)", options)
        expanded[member.strip().lower()] = split_list(selected.group(1)) if selected else []
    return expanded


def parse_count(text: str | None, name: str, *, most: int) -> int | None:
    if text is None:
        return None
    if not text.isdigit():
        raise BadQuery(f"Invalid value '{text}' for {name} query option found.")
    return min(int(text), most)


def build_link(base_url: str, path: str, query: Mapping[str, str]) -> str:
    options = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return f"{base_url}/v1.0/{path}?{options}"

"""Statements that list rows of one tenant, the newest first."""

from collections.abc import Iterable
from typing import Any


def build_list_statement(
    select: str,
    tenant_id: str,
    conditions: Iterable[tuple[str, Any]],
    limit: int,
    *,
    order: tuple[str, ...] = ("seq",),
) -> tuple[str, list[Any]]:
    """The text and its values. A condition stands in it only where its value is given, so that each has its index.

    `select`, the conditions and the columns of `order` are texts of ours, with `{}` in a condition where its value
    goes; a tuple has several.
    """
    values: list[Any] = [tenant_id]
    texts = ["tenant_id = $1"]
    for condition, value in conditions:
        if value is not None:
            given = value if isinstance(value, tuple) else (value,)
            texts.append(condition.format(*(f"${len(values) + number}" for number in range(1, len(given) + 1))))
            values.extend(given)
    values.append(limit)
    newest_first = ", ".join(f"{column} desc" for column in order)
    return f"{select} where {' and '.join(texts)} order by {newest_first} limit ${len(values)}", values

"""Statements that list rows of one tenant, the newest first."""

from collections.abc import Iterable
from typing import Any


def build_list_statement(
    select: str, tenant_id: str, conditions: Iterable[tuple[str, Any]], limit: int
) -> tuple[str, list[Any]]:
    """The text and its values. A condition stands in it only where its value is given, so that each has its index.

    `select` and the conditions are texts of ours, with `{}` in a condition where its value goes.
    """
    values: list[Any] = [tenant_id]
    texts = ["tenant_id = $1"]
    for condition, value in conditions:
        if value is not None:
            values.append(value)
            texts.append(condition.format(f"${len(values)}"))
    values.append(limit)
    return f"{select} where {' and '.join(texts)} order by seq desc limit ${len(values)}", values

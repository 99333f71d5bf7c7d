"""`trades.0.quantity=10`: a person's corrections of a document's trades, which the API takes as whole trades."""

import re
from collections.abc import Mapping, Sequence

from mailroom_cli.site_api import JSON
from mailroom_common.errors import Rejected

_NAME = re.compile(r"trades\.(\d{1,3})(?:\.([a-z_]+))?")
_TRUTHS = {"true": True, "false": False, None: False}


def correct_trades(trades: Sequence[JSON], pairs: Mapping[str, str | None]) -> list[JSON]:
    """The trades with what is given by name; a number behind the last one adds a trade.

    Raises:
        Rejected: a name is none.
    """
    corrected: dict[int, JSON] = {place: dict(trade) for place, trade in enumerate(trades)}
    for name, value in pairs.items():
        match = _NAME.fullmatch(name)
        if match is None or (match[2] is None and value is not None):
            raise Rejected(f"{name} is not trades.N.FIELD, or trades.N with an empty value to take a trade away")
        place = int(match[1])
        if match[2] is None:
            corrected.pop(place, None)
        elif place > max([len(trades), *(known + 1 for known in corrected)]):
            has = f"{len(trades)} trades, from 0" if trades else "no trade"
            raise Rejected(f"{name}: the document has {has}; trades.{len(trades)} would add one")
        else:
            corrected.setdefault(place, {})[match[2]] = _read_truth(value) if match[2] == "is_cancellation" else value
    return [corrected[place] for place in sorted(corrected)]


def _read_truth(value: str | None) -> bool:
    if value not in _TRUTHS:
        raise Rejected("is_cancellation is true or false")
    return _TRUTHS[value]

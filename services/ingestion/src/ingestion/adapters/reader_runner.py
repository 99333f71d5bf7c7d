"""What our readers need of the parser process: one call of a function in it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from mailroom_common.parser import JSON

T = TypeVar("T")


class ReaderRunner(Protocol):
    async def run_reader(
        self,
        function: str,
        source: Path | bytes,
        decode: Callable[[Any], T],
        *,
        arguments: Mapping[str, JSON] | None = None,
    ) -> T: ...

"""What our readers need of the parser process: one call of a function in it, and a check of its answer."""

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


def require_agreed(is_as_agreed: bool) -> None:
    """Our readers answer in one shape. Where an answer has another, its process was taken over by the file: what is not
    refused here is stored and shown.

    Raises:
        ValueError: the answer has another shape.
    """
    if not is_as_agreed:
        raise ValueError("our readers do not answer so")

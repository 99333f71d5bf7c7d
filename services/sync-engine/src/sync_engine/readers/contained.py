"""What the readers of containers find in one: files that are judged and stored one by one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from mailroom_common.parser import UnreadableFile
from sync_engine.domain.content import ContainerKind
from sync_engine.domain.parts import SkipReason


class ContainerProblem(StrEnum):
    """Why a container could not be opened, or not wholly."""

    ENCRYPTED = "encrypted"  # it, or a file in it, is locked
    BROKEN = "broken"  # its bytes are not those of its kind
    LIMIT = "limit"  # it holds more, larger or deeper nested files than are taken out of one attachment


class UnreadableContainer(UnreadableFile):
    def __init__(self, problem: ContainerProblem) -> None:
        super().__init__(problem)
        self.problem = problem


class NoContainer(Exception):
    """It only looked like one: it holds no files, and this is what becomes of it."""

    def __init__(self, skip_reason: SkipReason) -> None:
        super().__init__(skip_reason)
        self.skip_reason = skip_reason


@dataclass(frozen=True, slots=True)
class OpenedContainer:
    """`files` may raise UnreadableContainer after some. `html` is the body of a mail, which shows pictures."""

    files: Iterable["ContainedFile"]
    html: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainedFile:
    """A file in a container. Its name and type are the sender's, and open nothing.

    `position` says where it stands, the same for every reading: attachment ids hang on it. `read` gives as many of its
    first bytes as it is asked for, and raises UnreadableContainer where it cannot. `open_nested` is there where the
    container's reader has taken this file apart already, as `nested_kind`.
    """

    position: str
    filename: str | None
    read: Callable[[int], bytes] = field(repr=False)
    content_type: str | None = None
    size_bytes: int | None = None
    is_message: bool = False
    is_inline: bool = False
    content_id: str | None = None
    disposition: str | None = None
    nested_kind: ContainerKind | None = None
    open_nested: Callable[[], OpenedContainer] | None = field(default=None, repr=False)

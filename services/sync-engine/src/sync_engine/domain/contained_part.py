"""A file in a part of a mail, as the parser process took it out of its container."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from sync_engine.domain.content import ContainerKind, StoredType
from sync_engine.domain.parts import SkipReason

MAX_FILES = 500  # in a container and in those within it


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainedPart:
    """Has either a `skip_reason`, or a `stored_type` and bytes.

    `path` is where it stands in the part, empty for the part itself, which then is no container. `via` is what had to
    be opened, from the outside in. `chunks` are good until the next one is asked for.
    """

    path: str
    via: tuple[ContainerKind, ...]
    filename: str | None
    content_type: str | None
    size_bytes: int | None
    skip_reason: SkipReason | None
    stored_type: StoredType | None
    chunks: AsyncIterator[bytes] = field(repr=False)

"""The reader that the parser process is asked for: a container, taken apart into files that are documents and others.

Containers in it are opened in their turn. A file is judged by the rules of the parts of a mail; what cannot be opened
is given as a file itself, so that a person sees it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from mailroom_common.parser import JSON
from mailroom_common.providers.types import Part, PartKind
from sync_engine.domain.contained_part import MAX_FILES
from sync_engine.domain.content import HEAD_BYTES, ContainerKind, ContentKind, detect_content_kind
from sync_engine.domain.parts import (
    MAX_PART_BYTES,
    SkipReason,
    find_container_kind,
    find_shown_ids,
    skip_reason_by_content,
)
from sync_engine.readers.cms import open_smime
from sync_engine.readers.contained import (
    ContainedFile,
    ContainerProblem,
    NoContainer,
    OpenedContainer,
    UnreadableContainer,
)
from sync_engine.readers.mime import open_message
from sync_engine.readers.msg import open_msg
from sync_engine.readers.tnef import open_tnef
from sync_engine.readers.zip_archive import open_zip

MAX_DEPTH = 10  # containers within each other, of any kind

_CHUNK_BYTES = 256 * 1024

Contents = Iterator[tuple[JSON, Iterable[bytes]]]


class _TotalReached(UnreadableContainer):
    """The limit of the whole attachment: nothing more is taken out of it, at whatever depth."""

    def __init__(self) -> None:
        super().__init__(ContainerProblem.LIMIT)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a container stands: its path below the attachment, and what had to be opened, itself included."""

    path: str
    via: tuple[ContainerKind, ...]

    def find_path(self, file: ContainedFile) -> str:
        return f"{self.path}/{file.position}" if self.path else file.position


def read_container(file: BinaryIO, arguments: Mapping[str, Any]) -> Contents:
    """Of each file in it `{path, via, filename, content_type, size_bytes, skip_reason, kind}`; those with a `kind` have
    bytes, of which there are `max_bytes` in all at most. An empty path is the attachment itself, which then is no
    container.

    Raises:
        UnreadableContainer: after what could be taken out.
    """
    kind = ContainerKind(arguments["kind"])
    try:
        opened = _open_container(kind, file.read(), arguments["filename"])
        if arguments["position"] is not None:
            opened = _open_nested(opened, arguments["position"])
        yield from _ContainerWalk(arguments["max_bytes"]).read_files(opened, _Place("", (kind,)))
    except NoContainer as error:
        yield {"path": "", "via": [], "skip_reason": error.skip_reason}, ()


def _open_nested(opened: OpenedContainer, position: str) -> OpenedContainer:
    for file in opened.files:
        if file.position == position and file.open_nested:
            return file.open_nested()
    raise UnreadableContainer(ContainerProblem.BROKEN)


def _open_container(kind: ContainerKind, content: bytes, filename: str | None) -> OpenedContainer:
    match kind:
        case ContainerKind.MESSAGE:
            return open_message(content)
        case ContainerKind.ZIP:
            return open_zip(content)
        case ContainerKind.TNEF:
            return open_tnef(content)
        case ContainerKind.SMIME:
            return open_smime(content, filename)
        case ContainerKind.MSG:
            return open_msg(content)


class _ContainerWalk:
    """Counts what is taken out of one attachment, over all the containers in it."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._files = 0
        self._bytes = 0
        self._paths: set[str] = set()

    def read_files(self, opened: OpenedContainer, place: _Place) -> Contents:
        shown_ids = find_shown_ids(opened.html)
        problem: UnreadableContainer | None = None
        for file in opened.files:
            self._files += 1
            if self._files > MAX_FILES:
                raise _TotalReached
            try:
                self._require_new_path(place.find_path(file))
                yield from self._read_file(file, place, shown_ids)
            except _TotalReached:
                raise
            except UnreadableContainer as error:
                # One locked or broken entry keeps none of the others from being read.
                problem = problem or error
        if problem:
            raise problem

    def _require_new_path(self, path: str) -> None:
        """Attachment ids hang on paths. A `.msg` may have two attachments of one number."""
        if path in self._paths:
            raise UnreadableContainer(ContainerProblem.BROKEN)
        self._paths.add(path)

    def _read_file(self, file: ContainedFile, place: _Place, shown_ids: frozenset[str]) -> Contents:
        if file.nested_kind:
            yield from self._read_nested(file, place, file.nested_kind)
            return
        # The bytes are at hand: nothing is judged by its name alone, as an attachment is that costs a call.
        part, content = _describe_part(file, place), detect_content_kind(file.read(HEAD_BYTES))
        if container := find_container_kind(part, content):
            yield from self._read_nested(file, place, container)
        elif reason := skip_reason_by_content(part, content, shown_ids=shown_ids):
            yield _describe(file, place, skip_reason=reason), ()
        else:
            yield self._give_file(file, place, content)

    def _read_nested(self, file: ContainedFile, place: _Place, kind: ContainerKind) -> Contents:
        try:
            if len(place.via) >= MAX_DEPTH:
                raise UnreadableContainer(ContainerProblem.LIMIT)
            opened = file.open_nested() if file.open_nested else self._open_file(file, kind)
            yield from self.read_files(opened, _Place(place.find_path(file), (*place.via, kind)))
        except _TotalReached:
            raise
        except NoContainer as error:
            yield _describe(file, place, skip_reason=error.skip_reason), ()
        except UnreadableContainer:
            yield self._give_file(file, place, kind)

    def _open_file(self, file: ContainedFile, kind: ContainerKind) -> OpenedContainer:
        content = self._read_whole(file)
        if len(content) > MAX_PART_BYTES:
            raise UnreadableContainer(ContainerProblem.LIMIT)
        return _open_container(kind, content, file.filename)

    def _give_file(
        self, file: ContainedFile, place: _Place, kind: ContentKind | ContainerKind
    ) -> tuple[JSON, Iterable[bytes]]:
        content = self._read_whole(file)
        if len(content) > MAX_PART_BYTES:
            return _describe(file, place, skip_reason=SkipReason.TOO_LARGE), ()
        return _describe(file, place, kind=kind, size_bytes=len(content)), _cut(content)

    def _read_whole(self, file: ContainedFile) -> bytes:
        content = file.read(MAX_PART_BYTES + 1)
        self._bytes += len(content)
        if self._bytes > self._max_bytes:
            raise _TotalReached
        return content


def _describe_part(file: ContainedFile, place: _Place) -> Part:
    return Part(
        part_path=place.find_path(file),
        kind=PartKind.MESSAGE if file.is_message else PartKind.FILE,
        filename=file.filename,
        content_type=file.content_type,
        size_bytes=file.size_bytes,
        is_inline=file.is_inline,
        content_id=file.content_id,
        disposition=file.disposition,
    )


def _describe(
    file: ContainedFile,
    place: _Place,
    *,
    skip_reason: SkipReason | None = None,
    kind: ContentKind | ContainerKind | None = None,
    size_bytes: int | None = None,
) -> JSON:
    via: Sequence[str] = [*place.via]
    return {
        "path": place.find_path(file),
        "via": via,
        "filename": file.filename,
        "content_type": file.content_type,
        "size_bytes": file.size_bytes if size_bytes is None else size_bytes,
        "skip_reason": skip_reason,
        "kind": kind,
    }


def _cut(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), _CHUNK_BYTES):
        yield content[start : start + _CHUNK_BYTES]

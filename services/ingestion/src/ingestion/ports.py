"""What the handlers ask for."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from ingestion.domain.document import Lease, Outcome
from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.transcript import Transcript
from mailroom_common.events import AttachmentStored


class Intakes(Protocol):
    async def take_in(self, stored: AttachmentStored) -> str | None:
        """Record an attachment and the document it is, in one transaction; a record that comes again changes nothing.

        Returns:
            the key of a blob that nobody needs any more: that of a duplicate.
        """
        ...


class Leases(Protocol):
    """Claims on documents. All but `claim` do nothing and say False when the lease is another's by now."""

    async def claim(self) -> Lease | None: ...

    async def renew(self, lease: Lease) -> bool: ...

    async def finish(self, lease: Lease, outcome: Outcome) -> bool:
        """End the document and emit the result of every attachment that it is, in one transaction."""
        ...

    async def put_back(self, lease: Lease, *, not_before: datetime, error: str, counts: bool) -> bool:
        """Let the document rest. `counts` False: the attempt was none of the document's fault."""
        ...

    async def reserve_archive_path(self, lease: Lease, paths: Iterable[str]) -> str | None:
        """The first of the paths that no other document has; None when the lease is lost, or all are taken."""
        ...


@dataclass(frozen=True, slots=True)
class Fetched:
    """A blob as a file of our own. `content_type` is what its bytes are, None for nothing Mailroom reads."""

    path: Path
    sha256: str
    content_type: str | None


class Blobs(Protocol):
    def fetched(self, key: str) -> AbstractAsyncContextManager[Fetched]:
        """The blob as a file for the length of the block.

        Raises:
            BlobNotFound, Unavailable
        """
        ...

    async def archive(self, file: Fetched, path: str, *, metadata: Mapping[str, str]) -> None:
        """
        Raises:
            Unavailable
            Rejected: the store never takes this copy.
        """
        ...

    async def delete(self, key: str) -> None: ...


class Transcribes(Protocol):
    async def transcribe(self, file: Path) -> Transcript:
        """
        Raises:
            UnreadableFile, ParserLimitReached, ParserCrashed: as `ParserPool.call`.
        """
        ...


class Classifies(Protocol):
    async def classify(self, transcript: Transcript) -> Classification: ...


class Extracts(Protocol):
    async def extract(self, transcript: Transcript) -> Extraction: ...

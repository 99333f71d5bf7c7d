"""Lists of any length as an answer in CSV or JSON Lines: a page at a time, as the client takes them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import StreamingResponse

from ingestion.domain.export import ExportFormat

_MEDIA_TYPES = {ExportFormat.CSV: "text/csv; charset=utf-8; header=present", ExportFormat.JSONL: "application/x-ndjson"}
EXPORT_RESPONSES: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {}, "application/x-ndjson": {}}}}

FormatParameter = Annotated[ExportFormat, Query(alias="format")]

Page = tuple[Sequence[Mapping[str, Any]], int | None]
"""Items, and the position where the next page begins."""


async def stream_pages(
    list_page: Callable[[int | None], Awaitable[Page]], header: bytes, write_item: Callable[[Mapping[str, Any]], bytes]
) -> AsyncIterator[bytes]:
    """Each page from the position where the one before ended: no session or snapshot is held while a slow reader takes
    what it has. An item that changes meanwhile is in it once, as it was when its page was read."""
    before: int | None = None
    while True:
        items, before = await list_page(before)
        yield header + b"".join(write_item(item) for item in items)
        header = b""
        if before is None:
            return


async def answer_with_export(name: str, export_format: ExportFormat, pages: AsyncIterator[bytes]) -> StreamingResponse:
    # The first page before the answer begins: afterwards a database that is away could not be told by its status.
    first = await anext(pages)
    return StreamingResponse(
        _chain(first, pages),
        media_type=_MEDIA_TYPES[export_format],
        headers={
            "Content-Disposition": f'attachment; filename="{name}.{export_format.value}"',
            "Cache-Control": "private, no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for page in rest:
        yield page

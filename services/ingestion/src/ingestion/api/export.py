"""`GET /documents/export`: the documents that match, as CSV or JSON Lines, in a stream of any length."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from ingestion.api.document_filter import read_filter
from ingestion.domain.export import ExportFormat, write_document, write_header
from ingestion.ports.documents import DocumentCatalog, DocumentFilter
from mailroom_common.api_requests import refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role

_PAGE = 200  # documents at a time, fewer where they are long
_MEDIA_TYPES = {ExportFormat.CSV: "text/csv; charset=utf-8; header=present", ExportFormat.JSONL: "application/x-ndjson"}


def build_export_router(catalog: DocumentCatalog, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Documents"], dependencies=[Depends(refuse_unknown_parameters)])
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]

    @router.get(
        "/documents/export",
        summary="The documents that match, newest first, as CSV or JSON Lines",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/csv": {}, "application/x-ndjson": {}}}},
    )
    async def export_documents(
        caller: viewer,
        document_filter: Annotated[DocumentFilter, Depends(read_filter)],
        export_format: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.CSV,
    ) -> StreamingResponse:
        lines = stream_documents(catalog, caller.tenant_id, document_filter, export_format)
        # The first page before the answer begins: afterwards a database that is away could not be told by its status.
        first = await anext(lines)
        return StreamingResponse(
            _chain(first, lines),
            media_type=_MEDIA_TYPES[export_format],
            headers={
                "Content-Disposition": f'attachment; filename="documents.{export_format.value}"',
                "Cache-Control": "private, no-store",
                "X-Content-Type-Options": "nosniff",
            },
        )

    return router


async def stream_documents(
    catalog: DocumentCatalog, tenant_id: str, document_filter: DocumentFilter, export_format: ExportFormat
) -> AsyncIterator[bytes]:
    """A page of the list at a time, each by the position where the one before ended: no session or snapshot is held
    while a slow reader takes what it has. A document that changes meanwhile is in it once, as it was when its page was
    read."""
    before: int | None = None
    head = write_header(export_format)
    while True:
        items, before = await catalog.list_documents(tenant_id, document_filter, before=before, limit=_PAGE)
        yield head + b"".join(write_document(export_format, item) for item in items)
        head = b""
        if before is None:
            return


async def _chain(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for lines in rest:
        yield lines

"""`GET /documents/export`: the documents that match, as CSV or JSON Lines, in a stream of any length."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse

from ingestion.api.document_filter import read_filter
from ingestion.api.export_streams import EXPORT_RESPONSES, FormatParameter, Page, answer_with_export, stream_pages
from ingestion.domain.export import ExportFormat, write_document, write_header
from ingestion.ports.documents import DocumentCatalog, DocumentFilter
from mailroom_common.api_requests import refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role

_PAGE = 200  # documents at a time, fewer where they are long


def build_export_router(catalog: DocumentCatalog, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Documents"], dependencies=[Depends(refuse_unknown_parameters)])
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]

    @router.get(
        "/documents/export",
        summary="The documents that match, newest first, as CSV or JSON Lines",
        response_class=StreamingResponse,
        responses=EXPORT_RESPONSES,
    )
    async def export_documents(
        caller: viewer,
        document_filter: Annotated[DocumentFilter, Depends(read_filter)],
        export_format: FormatParameter = ExportFormat.CSV,
    ) -> StreamingResponse:
        async def list_page(before: int | None) -> Page:
            return await catalog.list_documents(caller.tenant_id, document_filter, before=before, limit=_PAGE)

        pages = stream_pages(list_page, write_header(export_format), partial(write_document, export_format))
        return await answer_with_export("documents", export_format, pages)

    return router

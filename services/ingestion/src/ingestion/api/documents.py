"""`GET /documents`, one of them, its content. A document of another tenant is not there."""

import base64
import binascii
from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from ingestion.adapters.documents import DocumentFilter, PgDocuments, StoredContent
from ingestion.domain.archive import file_stem
from ingestion.domain.content import EXTENSIONS
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.blobs import BlobNotFound, BlobStore
from mailroom_common.events import ResultStatus
from mailroom_common.web import HTTPProblem, ListPage

_OTHER_TYPE = "application/octet-stream"


def documents_router(documents: PgDocuments, blobs: BlobStore, keys: APIKeys) -> APIRouter:
    router = APIRouter()
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]

    @router.get("/documents")
    async def listed(
        caller: viewer,
        doc_source_id: str | None = None,
        status: ResultStatus | None = None,
        content_sha256: str | None = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        cursor: str | None = None,
    ) -> ListPage[dict[str, Any]]:
        wanted = DocumentFilter(doc_source_id=doc_source_id, status=status, content_sha256=content_sha256)
        before = None if cursor is None else _place(cursor)
        items, following = await documents.page(caller.tenant_id, wanted, before=before, limit=limit)
        return ListPage(items=items, next_cursor=None if following is None else _cursor(following))

    @router.get("/documents/{document_id}")
    async def one(caller: viewer, document_id: str) -> dict[str, Any]:
        found = await documents.one(caller.tenant_id, document_id)
        if found is None:
            raise _not_there()
        return found

    @router.get("/documents/{document_id}/content")
    async def content(caller: viewer, document_id: str) -> StreamingResponse:
        found = await documents.content(caller.tenant_id, document_id)
        if found is None:
            raise _not_there()
        chunks = blobs.read_blob(found.blob_key)
        try:
            first = await anext(chunks, b"")
        except BlobNotFound:
            raise HTTPProblem(404, "The content of this document is gone") from None
        return StreamingResponse(_all(first, chunks), headers=_content_headers(found), media_type=_type(found))

    return router


def _content_headers(found: StoredContent) -> dict[str, str]:
    """Strangers wrote this: a browser saves it, and does not look into it."""
    extension = EXTENSIONS.get(found.content_type, "bin")
    name = quote(f"{file_stem(found.filename)}.{extension}", safe="")
    return {
        "Content-Disposition": f"attachment; filename=\"document.{extension}\"; filename*=UTF-8''{name}",
        "Content-Length": str(found.size_bytes),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }


def _type(found: StoredContent) -> str:
    return found.content_type if found.content_type in EXTENSIONS else _OTHER_TYPE


async def _all(first: bytes, others: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in others:
        yield chunk


def _cursor(place: int) -> str:
    return base64.urlsafe_b64encode(str(place).encode()).decode().rstrip("=")


def _place(cursor: str) -> int:
    try:
        place = int(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error):
        place = -1
    if not 0 <= place < 2**63:
        raise HTTPProblem(422, "The cursor is not one of ours")
    return place


def _not_there() -> HTTPProblem:
    return HTTPProblem(404, "There is no such document")

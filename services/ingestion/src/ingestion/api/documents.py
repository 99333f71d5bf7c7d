"""`GET /documents`, one of them, and its content. A document of another tenant does not exist for the caller."""

from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import StreamingResponse

from ingestion.api.cursors import build_list_page, decode_cursor
from ingestion.api.document_filter import read_filter
from ingestion.api.examples import DOCUMENT_EXAMPLE, LIST_EXAMPLE
from ingestion.domain.archive import sanitize_file_stem
from ingestion.domain.transcript import CONTAINER_EXTENSIONS, EXTENSIONS
from ingestion.ports.documents import DocumentCatalog, DocumentFilter, StoredContent
from mailroom_common.api_requests import refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.blobs import BlobStore, compute_sha256
from mailroom_common.logs import get_logger
from mailroom_common.web import HTTPProblem, ListPage

log = get_logger()

_OTHER_TYPE = "application/octet-stream"
DocumentId = Annotated[UUID, Path(description="Id of the document.")]


def build_documents_router(catalog: DocumentCatalog, blobs: BlobStore, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Documents"], dependencies=[Depends(refuse_unknown_parameters)])
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]

    @router.get("/documents", summary="The documents, newest first", responses=LIST_EXAMPLE)
    async def list_documents(
        caller: viewer,
        document_filter: Annotated[DocumentFilter, Depends(read_filter)],
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        cursor: str | None = None,
    ) -> ListPage[dict[str, Any]]:
        """A page has fewer than `limit`, or none, where documents are long or few of very many match: there are more as
        long as `next_cursor` is set."""
        before = decode_cursor(cursor)
        items, following = await catalog.list_documents(caller.tenant_id, document_filter, before=before, limit=limit)
        return build_list_page(items, following)

    @router.get("/documents/{document_id}", summary="One document with all its attachments", responses=DOCUMENT_EXAMPLE)
    async def get_document(caller: viewer, document_id: DocumentId, response: Response) -> dict[str, Any]:
        """Of more than a thousand attachments, the first thousand."""
        document = await catalog.find_document(caller.tenant_id, str(document_id))
        if document is None:
            raise not_found()
        # What a review of it names as If-Match.
        response.headers["ETag"] = f'"{document["version"]}"'
        return document

    @router.get("/documents/{document_id}/content", summary="The bytes of a document, to be saved")
    async def get_content(caller: viewer, document_id: DocumentId) -> StreamingResponse:
        content = await catalog.find_content(caller.tenant_id, str(document_id))
        if content is None:
            raise not_found()
        chunks = await _open_content(blobs, content)
        return StreamingResponse(chunks, headers=_build_content_headers(content), media_type=_served_type(content))

    return router


async def _open_content(blobs: BlobStore, content: StoredContent) -> AsyncIterator[bytes]:
    # After a restore what is kept may be the copy of another attachment.
    for key in (content.blob_key, *content.copy_keys):
        # Read to its end before the answer begins: afterwards neither a missing blob nor one that is damaged could be
        # told by its status.
        found = await compute_sha256(blobs, key)
        if found == content.content_sha256:
            return blobs.read_blob(key)
        if found is not None:
            # The blob has other bytes than the document; a copy is served instead, where there is one.
            log.warning("damaged_blob_not_served", blob_key=key)
    raise HTTPProblem(404, "The content of this document is gone")


def _build_content_headers(content: StoredContent) -> dict[str, str]:
    """The content is untrusted: a browser must save it, and neither show nor run it."""
    extension = (EXTENSIONS | CONTAINER_EXTENSIONS).get(content.content_type, "bin")
    name = quote(f"{sanitize_file_stem(content.filename)}.{extension}", safe="")
    return {
        "Content-Disposition": f"attachment; filename=\"document.{extension}\"; filename*=UTF-8''{name}",
        "Content-Length": str(content.size_bytes),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }


def _served_type(content: StoredContent) -> str:
    return content.content_type if content.content_type in EXTENSIONS else _OTHER_TYPE


def not_found() -> HTTPProblem:
    return HTTPProblem(404, "There is no such document")

"""`GET /documents/{id}/pages/{n}`: a page as a PNG, for a UI that shows the boxes of `evidence` on it."""

from collections.abc import Awaitable
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Response

from ingestion.api.documents import DocumentId, not_found
from ingestion.domain.evidence import DRAWING_VERSION, PageImage
from ingestion.domain.transcript import EXTENSIONS
from ingestion.ports.blobs import DocumentBlobs
from ingestion.ports.documents import DocumentCatalog, PageDrawer, StoredContent
from mailroom_common.api_requests import refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.blobs import BlobNotFound
from mailroom_common.logs import get_logger
from mailroom_common.parser import ParserCrashed, ParserLimitReached, ParserUnconfined, UnreadableFile
from mailroom_common.web import HTTPProblem

log = get_logger()

_ANSWERS = {200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}, 304: {}}


def build_page_images_router(
    catalog: DocumentCatalog, blobs: DocumentBlobs, pages: PageDrawer, keys: APIKeys
) -> APIRouter:
    router = APIRouter(tags=["Documents"], dependencies=[Depends(refuse_unknown_parameters)])
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]

    @router.get(
        "/documents/{document_id}/pages/{number}",
        summary="A page of a document, as a picture",
        response_class=Response,
        responses=_ANSWERS,  # type: ignore[arg-type]  # FastAPI's own type is narrower than what it takes
    )
    async def get_page(
        caller: viewer,
        document_id: DocumentId,
        number: Annotated[int, Path(ge=1, le=1_000_000, description="From 1.")],
        if_none_match: Annotated[str | None, Header()] = None,
    ) -> Response:
        """A PNG of at most 1700 pixels a side and 4 MB. A box of `evidence` fits on it times the header
        `Mailroom-Pixels-Per-Point`. It is drawn anew for each request without the `ETag` of an earlier one."""
        content = await catalog.find_content(caller.tenant_id, str(document_id))
        if content is None:
            raise not_found()
        tag = f'"{content.content_sha256[:32]}-{number}-{DRAWING_VERSION}"'
        if if_none_match is not None and tag in if_none_match:
            return Response(status_code=304, headers={"ETag": tag})
        page = await _draw_page(blobs, pages, caller.tenant_id, content, number - 1)
        return Response(page.png, media_type="image/png", headers=_build_headers(tag, page))

    return router


async def _draw_page(
    blobs: DocumentBlobs, pages: PageDrawer, tenant_id: str, content: StoredContent, number: int
) -> PageImage:
    if content.content_type not in EXTENSIONS:
        raise HTTPProblem(409, "This document has no pages", "It is a container that could not be opened.")
    # After a restore what is kept may be the copy of another attachment.
    for key in (content.blob_key, *content.copy_keys):
        try:
            async with blobs.fetch_blob(key) as file:
                if file.sha256 != content.content_sha256:
                    continue  # damaged: a copy is drawn instead, where there is one
                page = await _try_to_draw(pages.draw_page(tenant_id, file.path, number))
        except BlobNotFound:
            continue
        if page is None:
            raise HTTPProblem(404, "The document has no such page")
        return page
    raise HTTPProblem(404, "The content of this document is gone")


async def _try_to_draw(drawing: Awaitable[PageImage | None]) -> PageImage | None:
    try:
        return await drawing
    except UnreadableFile as error:
        raise HTTPProblem(409, "The page cannot be drawn", f"Its file is {error.reason}.") from error
    except (ParserLimitReached, ParserCrashed) as error:
        # The file reached a limit of the process that draws it, or ended that process; the caller got 409.
        log.warning("page_drawing_failed", reason=str(error))
        raise HTTPProblem(409, "The page cannot be drawn", "Its file takes more than a page may.") from error
    except ParserUnconfined as error:
        # This machine does not confine the process that would draw it, and nobody said that it need not.
        log.error("page_drawing_failed", reason=str(error))
        raise HTTPProblem(501, "This site draws no pages", "Its API cannot confine the process for it.") from error


def _build_headers(tag: str, page: PageImage) -> dict[str, str]:
    return {
        "ETag": tag,
        # The caller's own cache, which asks again: whether the document may still be seen is looked up each time.
        "Cache-Control": "private, no-cache",
        "Content-Disposition": "inline",
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Mailroom-Pixels-Per-Point": f"{page.pixels_per_point:g}",
    }

"""Pages as pictures, drawn in confined parser processes of the API's own, which start with the first page."""

from base64 import b64decode
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Self

from ingestion.adapters.pool_on_demand import PoolOnDemand
from ingestion.adapters.reader_runner import require_agreed
from ingestion.domain.evidence import MAX_IMAGE_BYTES, MAX_SIDE_PIXELS, PageImage
from mailroom_common.parser.pool import ParserPool

PAGE_MODULES = ("ingestion.readers.page_view",)
_PNG = b"\x89PNG\r\n\x1a\n"


class ParserPageDrawer:
    """`PageDrawer` of ports/documents.py. `open_pool` opens the pool, at the first page that is asked for: an API
    whose clients look at no pages has no further process."""

    def __init__(self, open_pool: Callable[[], AbstractAsyncContextManager[ParserPool]]) -> None:
        self._pool = PoolOnDemand(open_pool)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    async def draw_page(self, tenant_id: str, file: Path, page: int) -> PageImage | None:
        pool = await self._pool.find_pool()
        # Tenants take turns for the processes: whoever turns many pages holds up no other.
        async with pool.open_document(tenant_id) as parser:
            return await parser.run_reader(
                "ingestion.readers.page_view:draw_page",
                file,
                _decode_page,
                arguments={"page": page, "max_side": MAX_SIDE_PIXELS, "max_bytes": MAX_IMAGE_BYTES},
            )


def _decode_page(answer: Any) -> PageImage | None:
    """Raises ValueError or its like for what our reader does not answer: a file has taken its process over."""
    if answer["png"] is None:
        return None
    png, scale = b64decode(answer["png"], validate=True), float(answer["pixels_per_point"])
    require_agreed(png.startswith(_PNG) and len(png) <= MAX_IMAGE_BYTES and 0 < scale < 100)
    return PageImage(png, scale)

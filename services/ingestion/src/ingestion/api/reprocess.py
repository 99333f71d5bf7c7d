"""`POST /documents/reprocess`, and of one document: read again by the newest readers, the result standing meanwhile."""

from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from ingestion.api.cursors import decode_cursor, encode_cursor
from ingestion.api.document_filter import require_known_reason
from ingestion.api.documents import DocumentId, not_found
from ingestion.ports.documents import DocumentCatalog
from ingestion.ports.intake import RereadFilter, Rereads
from mailroom_common.api_requests import refuse_unknown_parameters, require_range
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.events import ResultStatus
from mailroom_common.kafka.headers import REPLAY_ID_PATTERN

# Others are read by the newest readers anyway: none of them would match.
FinalStatus = Literal[ResultStatus.COMPLETED, ResultStatus.NEEDS_REVIEW, ResultStatus.SKIPPED, ResultStatus.FAILED]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ReprocessRequest(BaseModel):
    """Which documents of the tenant are read again; a document has to match all that is given.

    `replay_id` names the request over all its pages: a document is read again once for it, however often it is sent.
    """

    model_config = ConfigDict(extra="forbid")

    replay_id: Annotated[str, StringConstraints(pattern=REPLAY_ID_PATTERN)]
    doc_source_id: UUID | None = None
    status: FinalStatus | None = None
    reason: Name | None = None
    reader: Name | None = None
    except_reader: Name | None = None
    created_since: AwareDatetime | None = None
    created_before: AwareDatetime | None = None
    dry_run: bool = False
    limit: int = Field(default=50, ge=1, le=500)
    cursor: Name | None = None

    def to_filter(self) -> RereadFilter:
        require_known_reason(self.reason, place="body")
        require_range("created_since", self.created_since, "created_before", self.created_before, place="body")
        return RereadFilter(
            doc_source_id=None if self.doc_source_id is None else str(self.doc_source_id),
            status=self.status,
            reason=self.reason,
            reader=self.reader,
            except_reader=self.except_reader,
            created_since=self.created_since,
            created_before=self.created_before,
        )


class ReprocessAnswer(BaseModel):
    """`matching`: all that match and were not asked for by this replay yet, with `dry_run`; else those of this page,
    which may be none while `next_cursor` has a value.
    `requested`: those of them that are read again; the others wait to be read already."""

    matching: int
    requested: int
    next_cursor: str | None


def build_reprocess_router(catalog: DocumentCatalog, rereads: Rereads, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Documents"], dependencies=[Depends(refuse_unknown_parameters)])
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]

    @router.post("/documents/reprocess", status_code=202, summary="Read many documents again")
    async def reprocess_documents(body: ReprocessRequest, caller: operator) -> ReprocessAnswer:
        wanted = body.to_filter()
        if body.dry_run:
            count = await rereads.count_documents(caller.tenant_id, wanted, body.replay_id)
            return ReprocessAnswer(matching=count, requested=0, next_cursor=None)
        after = decode_cursor(body.cursor)
        page = await rereads.request_page(
            caller.tenant_id, wanted, body.replay_id, after=-1 if after is None else after, limit=body.limit
        )
        return ReprocessAnswer(
            matching=page.matching,
            requested=page.requested,
            next_cursor=encode_cursor(page.next_after),
        )

    @router.post("/documents/{document_id}/reprocess", status_code=202, summary="Read one document again")
    async def reprocess_document(document_id: DocumentId, caller: operator) -> dict[str, Any]:
        found = await rereads.request_document(caller.tenant_id, str(document_id), f"api-{uuid4()}")
        document = await catalog.find_document(caller.tenant_id, str(document_id)) if found else None
        if document is None:
            raise not_found()
        return document

    return router

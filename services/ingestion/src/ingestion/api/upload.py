"""`POST /documents`: a document uploaded by hand, which goes the way of an attachment of a mail."""

from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.requests import ClientDisconnect

from ingestion.api.documents import not_found
from ingestion.api.examples import UPLOAD_EXAMPLE
from ingestion.api.form_file import MAX_FORM_BYTES, BadForm, FormFile, find_boundary, read_form_file
from ingestion.domain.upload import MAX_UPLOAD_BYTES, NewUpload
from ingestion.handlers.upload_document import DocumentUploader, EmptyUpload, UnknownContent, UploadTooLarge
from ingestion.ports.documents import DocumentCatalog
from mailroom_common.api_requests import refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.events import Profile
from mailroom_common.web import HTTPProblem

BODY_LIMITS = {("POST", "/documents"): MAX_UPLOAD_BYTES + MAX_FORM_BYTES}
"""What `build_service_app` is told: the one body that is larger than a few KB."""

_MAX_NAME = 255

_BODY = {
    "requestBody": {
        "required": True,
        "description": "A PDF, PNG, JPEG or TIFF of at most 25 MB: its bytes, or a form with it.",
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            },
        },
    }
}


async def _open_file(request: Request) -> FormFile:
    """The body, or the file of the form that it is: programs send the one, browsers the other."""
    boundary = find_boundary(request.headers.get("content-type"))
    return FormFile(None, request.stream()) if boundary is None else await read_form_file(request.stream(), boundary)


def build_upload_router(uploader: DocumentUploader, catalog: DocumentCatalog, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Documents"], dependencies=[Depends(refuse_unknown_parameters)])
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]

    @router.post(
        "/documents", status_code=201, summary="Upload a document", responses=UPLOAD_EXAMPLE, openapi_extra=_BODY
    )
    async def upload_document(
        request: Request,
        response: Response,
        caller: operator,
        profile: Literal[Profile.INVOICE, Profile.CONTRACT_NOTE] = Profile.INVOICE,
        filename: Annotated[str | None, Query(min_length=1, max_length=_MAX_NAME)] = None,
    ) -> dict[str, Any]:
        try:
            file = await _open_file(request)
            upload = NewUpload(
                upload_id=uuid4(),
                tenant_id=caller.tenant_id,
                profile=profile,
                filename=filename or (file.filename or "")[:_MAX_NAME] or None,
                api_key_id=caller.key_id,
            )
            document_id = await uploader.upload_document(upload, file.chunks)
        except BadForm as error:
            raise HTTPProblem(400, "The form cannot be read", f"As a form with one file {error}.") from error
        except UnknownContent as error:
            raise HTTPProblem(415, "This is nothing that Mailroom reads", "Send a PDF, PNG, JPEG or TIFF.") from error
        except EmptyUpload as error:
            raise HTTPProblem(415, "The file is empty", "It has no bytes: send a PDF, PNG, JPEG or TIFF.") from error
        except UploadTooLarge as error:
            raise HTTPProblem(413, "The body is too large", "A document has at most 25 MB.") from error
        except ClientDisconnect as error:
            raise HTTPProblem(400, "The body was cut off") from error
        document = await catalog.find_document(caller.tenant_id, document_id)
        if document is None:
            raise not_found()
        response.headers["Location"] = f"/documents/{document_id}"
        return document

    return router

"""`POST /documents/{id}/password`: what opens a locked document, for the one reading that follows."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from ingestion.api.documents import DocumentId, not_found
from ingestion.api.examples import ACCEPTED_EXAMPLE
from ingestion.domain.document_password import (
    LIMIT_PERIOD,
    MAX_PASSWORD_CHARACTERS,
    NoPasswordNeeded,
    TooManyPasswords,
)
from ingestion.ports.documents import DocumentCatalog
from ingestion.ports.reviews import DocumentPasswords
from mailroom_common.api_requests import refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.web import HTTPProblem


def _require_no_nul(password: SecretStr) -> SecretStr:
    if "\x00" in password.get_secret_value():
        raise ValueError("a password has no NUL")
    return password


Password = Annotated[
    SecretStr, Field(min_length=1, max_length=MAX_PASSWORD_CHARACTERS), AfterValidator(_require_no_nul)
]


class PasswordRequest(BaseModel):
    """The password is sealed until the document was read with it, and then forgotten, whether it was right or wrong."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"password": "the customer's number"}]})

    password: Password


def build_password_router(catalog: DocumentCatalog, passwords: DocumentPasswords | None, keys: APIKeys) -> APIRouter:
    """`passwords` None: this site has no key that they could be sealed with."""
    router = APIRouter(tags=["Documents"], dependencies=[Depends(refuse_unknown_parameters)])
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]

    @router.post(
        "/documents/{document_id}/password",
        status_code=202,
        summary="Read a locked document again, with its password",
        responses=ACCEPTED_EXAMPLE,
    )
    async def give_password(document_id: DocumentId, body: PasswordRequest, caller: operator) -> dict[str, Any]:
        if passwords is None:
            raise HTTPProblem(501, "This site takes no passwords", "Set MAILROOM_TOKEN_KEYS for ingestion.")
        password = body.password.get_secret_value()
        try:
            found = await passwords.give_password(
                caller.tenant_id, str(document_id), password, api_key_id=caller.key_id
            )
        except NoPasswordNeeded as error:
            raise HTTPProblem(409, "The document needs no password", str(error)) from error
        except TooManyPasswords as error:
            after = str(int(LIMIT_PERIOD.total_seconds()))
            raise HTTPProblem(429, "Too many passwords", "Try again later.", headers={"Retry-After": after}) from error
        document = await catalog.find_document(caller.tenant_id, str(document_id)) if found else None
        if document is None:
            raise not_found()
        return document

    return router

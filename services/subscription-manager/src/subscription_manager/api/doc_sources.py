"""`/doc-sources`: what the tenants' operators and programs see and do."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.events import Access, Profile, Provider
from mailroom_common.web import HTTPProblem, ListPage
from subscription_manager.domain.connection import Connection, State, Status
from subscription_manager.handlers.change_state import ChangeState, WrongState
from subscription_manager.handlers.make_doc_source import MakeDocSource, NotAllowed, NotSetUp, Wanted
from subscription_manager.ports import AlreadyConnected, Connections

Address = Annotated[str, StringConstraints(strip_whitespace=True, max_length=320, pattern=r"^[^@\s<>]+@[^@\s<>]+$")]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255)]


class NewDocSource(BaseModel):
    model_config = ConfigDict(extra="forbid")

    provider: Provider
    profile: Profile
    access: Access = Access.DELEGATED
    address: Address | None = None
    provider_tenant: Name | None = None
    folders: list[Name] = Field(default_factory=list, max_length=100)
    start_at: AwareDatetime | None = None

    @model_validator(mode="after")
    def _application_names_its_mailbox(self) -> Self:
        if self.access is Access.APPLICATION:
            if self.address is None:
                raise ValueError("address is needed for application access")
            if self.provider is Provider.OUTLOOK and self.provider_tenant is None:
                raise ValueError("provider_tenant is needed for application access to outlook")
        return self


class DocSourceView(BaseModel):
    id: str
    tenant_id: str
    provider: Provider
    profile: Profile
    access: Access
    address: str | None
    state: State
    connection_status: Status | None
    connection_reason: str | None
    subscription_expires_at: datetime | None
    last_successful_sync_at: datetime | None
    start_at: datetime | None
    folders: list[str]
    created_at: datetime

    @classmethod
    def of(cls, connection: Connection) -> Self:
        return cls(
            id=connection.id,
            tenant_id=connection.tenant_id,
            provider=connection.provider,
            profile=connection.profile,
            access=connection.access,
            address=connection.address,
            state=connection.state,
            connection_status=connection.status,
            connection_reason=connection.reason,
            subscription_expires_at=None if connection.subscription is None else connection.subscription.expires_at,
            last_successful_sync_at=connection.last_successful_sync_at,
            start_at=connection.start_at,
            folders=list(connection.folders),
            created_at=connection.created_at,
        )


class DocSourceWithLink(DocSourceView):
    authorize_url: str | None = None


@dataclass(frozen=True, slots=True)
class DocSourceHandlers:
    connections: Connections
    make: MakeDocSource
    change: ChangeState
    public_url: str


def doc_source_routes(handlers: DocSourceHandlers, keys: APIKeys) -> APIRouter:
    """Every query is by the caller's tenant: another tenant's doc source is one that does not exist."""
    routes = APIRouter(prefix="/doc-sources")
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]
    admin = Annotated[Caller, Depends(require_role(keys, Role.ADMIN))]

    def link(connection: Connection, ticket: str | None) -> DocSourceWithLink:
        view = DocSourceView.of(connection).model_dump()
        url = None
        if ticket is not None:
            url = f"{handlers.public_url}/oauth/{connection.provider}/authorize?ticket={ticket}"
        return DocSourceWithLink(**view, authorize_url=url)

    @routes.post("", status_code=201)
    async def make(wanted: NewDocSource, caller: operator) -> DocSourceWithLink:
        if wanted.access is Access.APPLICATION and caller.role < Role.ADMIN:
            raise HTTPProblem(403, "This key may not do that", "Application access needs the role admin.")
        try:
            made, ticket = await handlers.make.make(_wanted(wanted, caller.tenant_id))
        except NotSetUp as error:
            raise HTTPProblem(409, "This provider is not set up here", str(error)) from error
        except NotAllowed as error:
            raise HTTPProblem(403, "This mailbox is not within reach", str(error)) from error
        except AlreadyConnected as error:
            raise HTTPProblem(409, "This mailbox is connected for this profile already") from error
        return link(made, ticket)

    @routes.get("")
    async def page(
        caller: viewer, limit: Annotated[int, Query(ge=1, le=200)] = 50, cursor: str | None = None
    ) -> ListPage[DocSourceView]:
        after = None if cursor is None else _position(cursor)
        found = await handlers.connections.page(caller.tenant_id, after=after, limit=limit + 1)
        shown = found[:limit]
        more = len(found) > limit
        return ListPage(
            items=[DocSourceView.of(one) for one in shown], next_cursor=_cursor(shown[-1]) if more else None
        )

    @routes.get("/{doc_source_id}")
    async def one(doc_source_id: str, caller: viewer) -> DocSourceView:
        return _view(await handlers.connections.find(doc_source_id, tenant_id=caller.tenant_id))

    @routes.post("/{doc_source_id}/authorize")
    async def authorize(doc_source_id: str, caller: operator) -> DocSourceWithLink:
        found = await handlers.connections.find(doc_source_id, tenant_id=caller.tenant_id)
        if found is None:
            raise _unknown()
        if found.access is not Access.DELEGATED or found.state is State.DELETING:
            raise HTTPProblem(409, "There is nothing to consent to", "It is being deleted, or has application access.")
        return link(found, await handlers.make.ticket(found.id))

    @routes.post("/{doc_source_id}/pause")
    async def pause(doc_source_id: str, caller: operator) -> DocSourceView:
        with _problems():
            return _view(await handlers.change.pause(caller.tenant_id, doc_source_id))

    @routes.post("/{doc_source_id}/resume")
    async def resume(doc_source_id: str, caller: operator) -> DocSourceView:
        with _problems():
            return _view(await handlers.change.resume(caller.tenant_id, doc_source_id))

    @routes.post("/{doc_source_id}/sync", status_code=202)
    async def sync(doc_source_id: str, caller: operator) -> DocSourceView:
        with _problems():
            return _view(await handlers.change.sync(caller.tenant_id, doc_source_id))

    @routes.delete("/{doc_source_id}", status_code=202)
    async def delete(doc_source_id: str, caller: admin, purge: bool = False) -> DocSourceView:
        if purge:
            raise HTTPProblem(
                501, "Purging is not there yet", "Delete without purge; documents, blobs and archive stay."
            )
        return _view(await handlers.change.delete(caller.tenant_id, doc_source_id))

    return routes


class _problems:  # noqa: N801  # reads as the statement it is: `with _problems():`
    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, WrongState):
            raise HTTPProblem(409, "The doc source is in another state", str(error)) from error


def _wanted(new: NewDocSource, tenant_id: str) -> Wanted:
    return Wanted(
        tenant_id=tenant_id,
        provider=new.provider,
        profile=new.profile,
        access=new.access,
        address=new.address,
        provider_tenant=new.provider_tenant,
        folders=tuple(new.folders),
        start_at=None if new.start_at is None else new.start_at.astimezone(UTC),
    )


def _view(connection: Connection | None) -> DocSourceView:
    if connection is None:
        raise _unknown()
    return DocSourceView.of(connection)


def _unknown() -> HTTPProblem:
    return HTTPProblem(404, "There is no such doc source")


def _cursor(last: Connection) -> str:
    return urlsafe_b64encode(f"{last.created_at.isoformat()} {last.id}".encode()).decode()


def _position(cursor: str) -> tuple[datetime, str]:
    try:
        created_at, _, doc_source_id = urlsafe_b64decode(cursor).decode().partition(" ")
        return datetime.fromisoformat(created_at), str(UUID(doc_source_id))
    except (binascii.Error, ValueError) as error:
        raise HTTPProblem(422, "The cursor is none of ours") from error

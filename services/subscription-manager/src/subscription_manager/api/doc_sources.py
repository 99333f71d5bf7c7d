"""`/doc-sources`: what the tenants' operators and programs see and do."""

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic.config import JsonDict

from mailroom_common.api_requests import DocSourceId, refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.errors import ActionRequired, Rejected, Retryable
from mailroom_common.events import Access, Profile, SourceFilter
from mailroom_common.web import HTTPProblem, ListPage
from subscription_manager.domain.connection import Connection, ConnectionState, ConnectionStatus
from subscription_manager.handlers.change_connection_state import ChangeConnectionState, WrongConnectionState
from subscription_manager.handlers.create_doc_source import (
    CreateDocSource,
    DocSourceRequest,
    InvalidDocSource,
    MailboxNotAllowed,
    ProviderNotSetUp,
    StartNotAllowed,
    TooManyPendingSources,
)
from subscription_manager.handlers.relist_doc_source import InvalidRelist, RelistDocSource
from subscription_manager.ports import ConnectionStore, MailboxAlreadyConnected

EmailAddress = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=320, pattern=r"^[^@\s<>]+@[^@\s<>]+$")
]
ShortText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255)]


# An address, or a domain with its subdomains. One without a dot would be a whole top-level domain.
Sender = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True,
        to_lower=True,
        max_length=255,
        pattern=r"^([^@\s<>,]+@[^@\s<>,]+|@?[^@\s<>,.]+(\.[^@\s<>,.]+)+)$",
    ),
]


_EXAMPLES: dict[str, JsonDict] = json.loads(Path(__file__).with_name("doc_source_examples.json").read_text())


class Strictness(StrEnum):
    LENIENT = "lenient"  # a mail with a part that may be a document is taken whatever it looks like
    STRICT = "strict"  # a mail is taken that mentions a document, or has a table in its body


# Each process that judges mail keeps the filters of all doc sources in memory.
_MAX_SENDERS = 100  # of each list
_MAX_FILTER_BYTES = 16 * 1024


class FilterRules(BaseModel):
    """Which mail is looked into. What is left out has its default: a change replaces the whole filter.

    Senders are addresses (`billing@acme.example`) or domains with their subdomains (`acme.example`). Mail of a denied
    sender is never taken, that of an allowed one always; one that is both is denied.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"sender_deny": ["news.acme.example"]}]})

    sender_allow: list[Sender] = Field(default_factory=list, max_length=_MAX_SENDERS)
    sender_deny: list[Sender] = Field(default_factory=list, max_length=_MAX_SENDERS)
    strictness: Strictness = Strictness.LENIENT

    @model_validator(mode="after")
    def _limit_size(self) -> Self:
        if sum(len(sender.encode()) for sender in (*self.sender_allow, *self.sender_deny)) > _MAX_FILTER_BYTES:
            raise ValueError(
                f"the senders of a filter may have {_MAX_FILTER_BYTES} bytes together: name domains, not addresses"
            )
        return self

    def to_source_filter(self) -> SourceFilter:
        return SourceFilter(
            sender_allow=list(dict.fromkeys(self.sender_allow)),
            sender_deny=list(dict.fromkeys(self.sender_deny)),
            strictness=self.strictness.value,
        )


class SourceFilterView(BaseModel):
    sender_allow: list[str]
    sender_deny: list[str]
    strictness: str

    @classmethod
    def from_filter(cls, rules: SourceFilter) -> Self:
        return cls(sender_allow=rules.sender_allow, sender_deny=rules.sender_deny, strictness=rules.strictness)


class NewDocSource(BaseModel):
    """Mail received before `start_at` (now, by default; earlier needs the role admin) is never stored.

    `address` is needed for application access; with delegated access only this mailbox may then consent.
    `provider_tenant` limits the sign-in to a tenant of the provider, whose administrator's word on addresses counts.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLES["request"]]})

    provider: ShortText
    profile: Profile
    access: Access = Access.DELEGATED
    address: EmailAddress | None = None
    provider_tenant: ShortText | None = None
    folders: list[ShortText] = Field(default_factory=list, max_length=100)
    start_at: AwareDatetime | None = None
    filter: FilterRules = Field(default_factory=FilterRules)

    @model_validator(mode="after")
    def _require_address(self) -> Self:
        if self.access is Access.APPLICATION and self.address is None:
            raise ValueError("address is needed for application access")
        return self

    def to_request(self, tenant_id: str) -> DocSourceRequest:
        return DocSourceRequest(
            tenant_id=tenant_id,
            provider=self.provider,
            profile=self.profile,
            access=self.access,
            address=self.address,
            provider_tenant=self.provider_tenant,
            folders=tuple(self.folders),
            start_at=None if self.start_at is None else self.start_at.astimezone(UTC),
            filter=self.filter.to_source_filter(),
        )


class DocSourceChange(BaseModel):
    """What is left out stays, and one kind of change is made at a time. `address` and `folders` of one that is pending
    are corrected; or `filter` is replaced, by which mail is judged from then on; or the mailbox is listed again from a
    date, where `start_at` moves the limit itself back."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"folders": ["Inbox/Invoices"]}]})

    address: EmailAddress | None = None
    folders: list[ShortText] | None = Field(default=None, max_length=100)
    relist_from: AwareDatetime | None = None
    start_at: AwareDatetime | None = None
    filter: FilterRules | None = None

    @property
    def is_relist(self) -> bool:
        return self.relist_from is not None or self.start_at is not None

    @model_validator(mode="after")
    def _require_one_kind(self) -> Self:
        is_correction = self.address is not None or self.folders is not None
        if self.is_relist and is_correction:
            raise ValueError("address and folders cannot be corrected together with relist_from or start_at")
        if self.filter is not None and (self.is_relist or is_correction):
            raise ValueError("filter is changed by itself, without address, folders, relist_from or start_at")
        return self


class DocSourceView(BaseModel):
    """`connection_reason` and `current_error` say what is wrong, and null means nothing is."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLES["answer"]]})

    id: str
    tenant_id: str
    provider: str
    profile: Profile
    access: Access
    address: str | None
    state: ConnectionState
    connection_status: ConnectionStatus | None
    connection_reason: str | None
    current_error: str | None
    subscription_expires_at: datetime | None
    last_successful_sync_at: datetime | None = Field(
        description="Reported by the worker at most once a minute: the newest sync may be younger (`GET /sync-runs`)."
    )
    start_at: datetime | None
    relist_from: datetime | None
    relist_number: int = Field(description="Of the newest re-list; a sync run has the number that it began with.")
    folders: list[str]
    filter: SourceFilterView
    created_at: datetime

    @classmethod
    def from_connection(cls, connection: Connection) -> Self:
        return cls(
            id=connection.id,
            tenant_id=connection.tenant_id,
            provider=connection.provider,
            profile=connection.profile,
            access=connection.access,
            address=connection.address,
            state=connection.state,
            connection_status=connection.connection_status,
            connection_reason=connection.connection_reason,
            current_error=connection.current_error,
            subscription_expires_at=None if connection.subscription is None else connection.subscription.expires_at,
            last_successful_sync_at=connection.last_successful_sync_at,
            start_at=connection.start_at,
            relist_from=connection.relist_from,
            relist_number=connection.relist_number,
            folders=list(connection.folders),
            filter=SourceFilterView.from_filter(connection.filter),
            created_at=connection.created_at,
        )


class DocSourceWithLink(DocSourceView):
    authorize_url: str | None = None


@dataclass(frozen=True, slots=True)
class DocSourceHandlers:
    connections: ConnectionStore
    create: CreateDocSource
    change: ChangeConnectionState
    relist: RelistDocSource
    public_url: str


def build_doc_source_routes(handlers: DocSourceHandlers, keys: APIKeys) -> APIRouter:
    """Every query is by the caller's tenant: another tenant's doc source is one that does not exist."""
    routes = APIRouter(prefix="/doc-sources", tags=["Doc sources"], dependencies=[Depends(refuse_unknown_parameters)])
    _add_read_routes(routes, handlers, keys)
    _add_creation_routes(routes, handlers, keys)
    _add_change_routes(routes, handlers, keys)
    return routes


def _add_read_routes(routes: APIRouter, handlers: DocSourceHandlers, keys: APIKeys) -> None:
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]

    @routes.get("", summary="The doc sources of the tenant, oldest first")
    async def list_doc_sources(
        caller: viewer,
        address: Annotated[EmailAddress | None, Query(description="Only of this mailbox, in any case.")] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: str | None = None,
    ) -> ListPage[DocSourceView]:
        after = None if cursor is None else _decode_cursor(cursor)
        # One more than asked for tells whether there is a next page.
        connections = await handlers.connections.list_connections(
            caller.tenant_id, address=address, after=after, limit=limit + 1
        )
        page, has_more = connections[:limit], len(connections) > limit
        return ListPage(
            items=[DocSourceView.from_connection(connection) for connection in page],
            next_cursor=_encode_cursor(page[-1]) if has_more else None,
        )

    @routes.get("/{doc_source_id}", summary="One doc source, and whether its connection works")
    async def show_doc_source(doc_source_id: DocSourceId, caller: viewer) -> DocSourceView:
        return _view_or_404(await handlers.connections.find_connection(str(doc_source_id), tenant_id=caller.tenant_id))


def _add_creation_routes(routes: APIRouter, handlers: DocSourceHandlers, keys: APIKeys) -> None:
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]

    @routes.post("", status_code=201, summary="Connect a mailbox: the answer has the link of the consent page")
    async def create_doc_source(body: NewDocSource, caller: operator) -> DocSourceWithLink:
        if body.access is Access.APPLICATION and caller.role < Role.ADMIN:
            raise HTTPProblem(403, "This key may not do that", "Application access needs the role admin.")
        connection, ticket = await _create_doc_source(handlers.create, body, caller)
        return _add_link(connection, ticket, handlers.public_url)

    @routes.post("/{doc_source_id}/authorize", summary="A new link of the consent page")
    async def create_link(doc_source_id: DocSourceId, caller: operator) -> DocSourceWithLink:
        connection = await handlers.connections.find_connection(str(doc_source_id), tenant_id=caller.tenant_id)
        if connection is None:
            raise _not_found()
        if connection.access is not Access.DELEGATED or connection.state is ConnectionState.DELETING:
            raise HTTPProblem(409, "There is nothing to consent to", "It is being deleted, or has application access.")
        return _add_link(connection, await handlers.create.issue_ticket(connection.id), handlers.public_url)


def _add_change_routes(routes: APIRouter, handlers: DocSourceHandlers, keys: APIKeys) -> None:
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]
    admin = Annotated[Caller, Depends(require_role(keys, Role.ADMIN))]

    @routes.patch("/{doc_source_id}", summary="Correct a pending one, change the filter, or list the mailbox again")
    async def change_doc_source(doc_source_id: DocSourceId, body: DocSourceChange, caller: operator) -> DocSourceView:
        with _ConflictAs409():
            if body.is_relist:
                return _view_or_404(await _relist_doc_source(handlers.relist, str(doc_source_id), body, caller))
            if body.filter is not None:
                rules = body.filter.to_source_filter()
                return _view_or_404(await handlers.change.change_filter(caller.tenant_id, str(doc_source_id), rules))
            folders = None if body.folders is None else tuple(body.folders)
            return _view_or_404(
                await handlers.change.correct_doc_source(
                    caller.tenant_id, str(doc_source_id), address=body.address, folders=folders
                )
            )

    @routes.post("/{doc_source_id}/pause", summary="Stop syncing, and keep the connection")
    async def pause_doc_source(doc_source_id: DocSourceId, caller: operator) -> DocSourceView:
        with _ConflictAs409():
            return _view_or_404(await handlers.change.pause_doc_source(caller.tenant_id, str(doc_source_id)))

    @routes.post("/{doc_source_id}/resume", summary="Sync again; what came meanwhile is caught up")
    async def resume_doc_source(doc_source_id: DocSourceId, caller: operator) -> DocSourceView:
        with _ConflictAs409():
            return _view_or_404(await handlers.change.resume_doc_source(caller.tenant_id, str(doc_source_id)))

    @routes.post("/{doc_source_id}/sync", status_code=202, summary="Ask for a sync of everything now")
    async def request_sync(doc_source_id: DocSourceId, caller: operator) -> DocSourceView:
        with _ConflictAs409():
            return _view_or_404(await handlers.change.request_sync(caller.tenant_id, str(doc_source_id)))

    @routes.delete("/{doc_source_id}", status_code=202, summary="End the connection; documents stay")
    async def delete_doc_source(doc_source_id: DocSourceId, caller: admin, purge: bool = False) -> DocSourceView:
        if purge:
            raise HTTPProblem(
                501, "Purging is not there yet", "Delete without purge; documents, blobs and archive stay."
            )
        return _view_or_404(await handlers.change.delete_doc_source(caller.tenant_id, str(doc_source_id)))


async def _create_doc_source(
    create: CreateDocSource, body: NewDocSource, caller: Caller
) -> tuple[Connection, str | None]:
    try:
        return await create.create_doc_source(
            body.to_request(caller.tenant_id), may_start_earlier=caller.role >= Role.ADMIN
        )
    except StartNotAllowed as error:
        raise HTTPProblem(403, "This key may not do that", str(error)) from error
    except InvalidDocSource as error:
        raise HTTPProblem(422, "The doc source is not valid", str(error)) from error
    except ProviderNotSetUp as error:
        raise HTTPProblem(409, "This provider is not set up here", str(error)) from error
    except TooManyPendingSources as error:
        raise HTTPProblem(409, "Too many doc sources wait for a consent", str(error)) from error
    except MailboxNotAllowed as error:
        raise HTTPProblem(403, "This tenant may not open this mailbox", str(error)) from error
    except MailboxAlreadyConnected as error:
        raise HTTPProblem(409, "This mailbox is connected for this profile already") from error
    except (ActionRequired, Rejected) as error:
        raise HTTPProblem(422, "The provider refuses this mailbox", type(error).__name__) from error
    except Retryable as error:
        raise HTTPProblem(503, "The provider could not be asked for the folders") from error


async def _relist_doc_source(
    relist: RelistDocSource, doc_source_id: str, body: DocSourceChange, caller: Caller
) -> Connection | None:
    try:
        return await relist.relist_doc_source(
            caller.tenant_id,
            doc_source_id,
            relist_from=None if body.relist_from is None else body.relist_from.astimezone(UTC),
            start_at=None if body.start_at is None else body.start_at.astimezone(UTC),
            may_move_start=caller.role >= Role.ADMIN,
        )
    except StartNotAllowed as error:
        raise HTTPProblem(403, "This key may not do that", str(error)) from error
    except InvalidRelist as error:
        raise HTTPProblem(422, "The mailbox cannot be listed again so", str(error)) from error


class _ConflictAs409:
    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, WrongConnectionState):
            raise HTTPProblem(409, "The doc source is in another state", str(error)) from error


def _add_link(connection: Connection, ticket: str | None, public_url: str) -> DocSourceWithLink:
    view = DocSourceView.from_connection(connection).model_dump()
    url = None if ticket is None else f"{public_url}/oauth/{connection.provider}/authorize?ticket={ticket}"
    return DocSourceWithLink(**view, authorize_url=url)


def _view_or_404(connection: Connection | None) -> DocSourceView:
    if connection is None:
        raise _not_found()
    return DocSourceView.from_connection(connection)


def _not_found() -> HTTPProblem:
    return HTTPProblem(404, "There is no such doc source")


def _encode_cursor(last: Connection) -> str:
    return urlsafe_b64encode(f"{last.created_at.isoformat()} {last.id}".encode()).decode()


def _decode_cursor(cursor: str) -> tuple[datetime, str]:
    try:
        created_at, _, doc_source_id = urlsafe_b64decode(cursor).decode().partition(" ")
        return datetime.fromisoformat(created_at), str(UUID(doc_source_id))
    except (binascii.Error, ValueError) as error:
        raise HTTPProblem(
            422, "The cursor is none of ours", "Pass `next_cursor` of the page before unchanged."
        ) from error

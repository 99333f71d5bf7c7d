"""The control API: what tests and the command line do to the providers. Plain http, never seen by Mailroom itself."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, Protocol

from fastapi import Body, FastAPI, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mailroom_sandbox.api_docs.page import CONTENT_SECURITY_POLICY, render_page
from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.provider_doubles.fault_switchboard import EVERY_MAILBOX
from mailroom_sandbox.provider_doubles.faults import FAULTS, MessageDelayed
from mailroom_sandbox.provider_doubles.google.app import Google
from mailroom_sandbox.provider_doubles.microsoft.app import Microsoft
from mailroom_sandbox.provider_doubles.provider_state import ProviderState

ProviderName = Literal["outlook", "gmail"]
LifecycleEvent = Literal["reauthorizationRequired", "subscriptionRemoved", "missed"]
FlagStatus = Literal["notFlagged", "flagged", "complete"]
_MAX_COPIES = 100_000
_AT_A_TIME = 100


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewMailbox(_Request):
    provider: ProviderName
    address: str = Field(pattern=r"^[^@\s]+@[^@\s]+$")
    display_name: str | None = None


class MessageSelection(_Request):
    address: str
    message_id: str
    provider: ProviderName | None = None


class Move(MessageSelection):
    folder: str


class MessageMarks(MessageSelection):
    """What its user marks it with; null leaves a mark as it is. `flag` is Graph's word; on Gmail it is the star."""

    is_read: bool | None = None
    flag: FlagStatus | None = None


class FolderSelection(_Request):
    """`folder` is a path on Outlook (`Inbox/Invoices`), the name of a label on Gmail."""

    address: str
    folder: str
    provider: ProviderName | None = None


class Disable(_Request):
    """`reason` is what Graph says of the mailbox, e.g. MailboxNotEnabledForRESTAPI; null brings it back."""

    address: str
    provider: ProviderName | None = None
    reason: str | None = None


class Lifecycle(_Request):
    event: LifecycleEvent
    subscription_id: str | None = None
    address: str | None = None


class MailboxSelection(_Request):
    address: str | None = None
    provider: ProviderName | None = None


class Resend(MailboxSelection):
    last: int = Field(default=1, ge=1, le=10_000)


class Mailboxes(Protocol):
    """What both providers' mailboxes can be made to do."""

    def find_or_create_mailbox(self, address: str, display_name: str | None = None) -> object: ...
    def deliver_mail(self, address: str, source: bytes, *, folder: str | None, received_at: datetime | None) -> str: ...
    def move_message(self, address: str, message_id: str, folder: str) -> str: ...
    def mark_read(self, address: str, message_id: str, *, is_read: bool) -> None: ...
    def set_flag(self, address: str, message_id: str, flag: str) -> None: ...
    def delete_message(self, address: str, message_id: str) -> None: ...
    def has_folder(self, address: str, folder: str) -> bool: ...
    def find_or_create_folder(self, address: str, folder: str) -> str: ...
    def remove_folder(self, address: str, folder: str) -> None: ...
    def list_contents(self, address: str) -> list[dict[str, object]]: ...
    def refuse_cursors(self, address: str) -> None: ...


def build_control_app(state: ProviderState, microsoft: Microsoft, google: Google) -> FastAPI:
    # The page is our own: FastAPI's fetches its script from elsewhere, and is blank without internet.
    app = FastAPI(
        title="Mailroom sandbox: providers", docs_url=None, redoc_url=None, openapi_url="/sandbox/openapi.json"
    )
    mailboxes_by_address = MailboxDirectory(state, {"outlook": microsoft.mailboxes, "gmail": google.mailboxes})
    _add_mailbox_routes(app, mailboxes_by_address)
    _add_call_routes(app, state, mailboxes_by_address)
    _add_push_routes(app, state, microsoft, mailboxes_by_address)
    _add_fault_routes(app, state, mailboxes_by_address)

    @app.get("/sandbox/docs", include_in_schema=False)
    async def show_page(request: Request) -> HTMLResponse:
        page = render_page(app.openapi(), url=str(request.base_url).rstrip("/"), needs_key=False)
        return HTMLResponse(page, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})

    @app.exception_handler(LookupError)
    async def not_found(_: Request, error: LookupError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=404)

    return app


class MailboxDirectory:
    """Finds the mailbox that is meant: by address, and by provider where both have it."""

    def __init__(self, state: ProviderState, mailboxes: dict[str, Mailboxes]) -> None:
        self.state = state
        self.mailboxes = mailboxes

    def find_mailboxes(self, address: str, provider: str | None) -> list[tuple[str, Mailboxes]]:
        rows = self.state.store.select_rows(
            "select provider from mailbox where address = ? and provider = coalesce(?, provider)", address, provider
        )
        if not rows:
            raise LookupError(f"no mailbox {address}")
        return [(row["provider"], self.mailboxes[row["provider"]]) for row in rows]

    def list_user_ids(self, address: str | None, provider: str | None) -> list[tuple[str, str]]:
        rows = self.state.store.select_rows(
            "select provider, user_id from mailbox where address = coalesce(?, address)"
            " and provider = coalesce(?, provider)",
            address,
            provider,
        )
        return [(row["provider"], row["user_id"]) for row in rows]

    def find_mailbox_of(self, one: MessageSelection) -> Mailboxes:
        """Of several mailboxes with that address, the one that has the message."""
        found = self.find_mailboxes(one.address, one.provider)
        for _, mailboxes in found:
            if len(found) == 1 or any(
                row["message_id"] == one.message_id for row in mailboxes.list_contents(one.address)
            ):
                return mailboxes
        raise LookupError("no such message")


def _add_mailbox_routes(app: FastAPI, mailboxes_by_address: MailboxDirectory) -> None:
    @app.post("/sandbox/mailboxes", status_code=201)
    async def find_or_create_mailbox(body: NewMailbox) -> NewMailbox:
        mailboxes_by_address.mailboxes[body.provider].find_or_create_mailbox(body.address, body.display_name)
        return body

    @app.get("/sandbox/mailboxes")
    async def list_mailboxes() -> dict[str, list[dict[str, object]]]:
        rows = mailboxes_by_address.state.store.select_rows(
            "select provider, address, user_id, display_name, disabled from mailbox"
        )
        return {"items": [dict(row) for row in rows]}

    @app.post("/sandbox/reset", status_code=204)
    async def reset_state() -> None:
        """Forgets mailboxes, tokens, subscriptions, calls and faults; keys and ports stay."""
        mailboxes_by_address.state.calls.forget_calls()
        mailboxes_by_address.state.store.delete_everything()

    @app.post("/sandbox/mailboxes/disable")
    async def disable_mailbox(body: Disable) -> Disable:
        """The account has no mailbox any more, or an administrator shut the application out."""
        for provider, user_id in mailboxes_by_address.list_user_ids(body.address, body.provider):
            mailboxes_by_address.state.store.execute_sql(
                "update mailbox set disabled = ? where provider = ? and user_id = ?", body.reason, provider, user_id
            )
        return body

    @app.post("/sandbox/folders", status_code=201)
    async def find_or_create_folder(body: FolderSelection) -> dict[str, list[dict[str, str]]]:
        found = mailboxes_by_address.find_mailboxes(body.address, body.provider)
        return {
            "items": [
                {"provider": name, "folder_id": mailboxes.find_or_create_folder(body.address, body.folder)}
                for name, mailboxes in found
            ]
        }

    @app.post("/sandbox/folders/remove")
    async def remove_folder(body: FolderSelection) -> dict[str, str]:
        """Its user deleted it: with its messages on Outlook, without them on Gmail."""
        for _, mailboxes in mailboxes_by_address.find_mailboxes(body.address, body.provider):
            mailboxes.remove_folder(body.address, body.folder)
        return {"folder": body.folder}

    @app.post("/sandbox/messages", status_code=201)
    async def deliver_mail(
        request: Request,
        to: str,
        provider: ProviderName | None = None,
        folder: str | None = None,
        received_at: datetime | None = None,
        times: Annotated[int, Query(ge=1, le=_MAX_COPIES)] = 1,
        create_folder: bool = True,
    ) -> dict[str, list[dict[str, str]]]:
        """The body is the mail's source, byte for byte."""
        if received_at is not None:
            received_at = received_at.replace(tzinfo=received_at.tzinfo or UTC)
            if received_at.timestamp() < 0:
                raise HTTPException(422, "received_at: no mailbox has mail from before 1970")
        if folder is not None and not create_folder:
            _require_folder(mailboxes_by_address, to, provider, folder)
        source = await request.body()
        delivered = []
        for name, mailboxes in mailboxes_by_address.find_mailboxes(to, provider):
            for first in range(0, times, _AT_A_TIME):
                with mailboxes_by_address.state.store.transaction():
                    for _ in range(min(_AT_A_TIME, times - first)):
                        message_id = mailboxes.deliver_mail(to, source, folder=folder, received_at=received_at)
                        _delete_if_it_goes_at_once(mailboxes_by_address.state, mailboxes, to, source, message_id)
                        delivered.append({"provider": name, "message_id": message_id})
                await asyncio.sleep(0)  # the providers go on answering while many arrive
        return {"items": delivered}

    @app.get("/sandbox/messages")
    async def list_messages(address: str, provider: ProviderName | None = None) -> dict[str, Sequence[object]]:
        found = mailboxes_by_address.find_mailboxes(address, provider)
        return {
            "items": [
                {"provider": name, **row} for name, mailboxes in found for row in mailboxes.list_contents(address)
            ]
        }

    @app.post("/sandbox/messages/move")
    async def move_message(body: Move) -> dict[str, str]:
        return {
            "message_id": mailboxes_by_address.find_mailbox_of(body).move_message(
                body.address, body.message_id, body.folder
            )
        }

    @app.post("/sandbox/messages/update")
    async def update_message(body: MessageMarks) -> dict[str, str]:
        mailboxes = mailboxes_by_address.find_mailbox_of(body)
        if body.is_read is not None:
            mailboxes.mark_read(body.address, body.message_id, is_read=body.is_read)
        if body.flag is not None:
            mailboxes.set_flag(body.address, body.message_id, body.flag)
        return {"message_id": body.message_id}

    @app.post("/sandbox/messages/delete")
    async def delete_message(body: MessageSelection) -> dict[str, str]:
        mailboxes_by_address.find_mailbox_of(body).delete_message(body.address, body.message_id)
        return {"message_id": body.message_id}


def _delete_if_it_goes_at_once(
    state: ProviderState, mailboxes: Mailboxes, address: str, source: bytes, message_id: str
) -> None:
    def concerns(fault: MessageDelayed) -> bool:
        subject = mime.parse_mail(source).read_header("subject")
        return fault.mode == "gone" and fault.concerns((message_id, subject or ""))

    if state.faults.use_fault_once(MessageDelayed, address, concerns):
        mailboxes.delete_message(address, message_id)


def _require_folder(
    mailboxes_by_address: MailboxDirectory, address: str, provider: ProviderName | None, folder: str
) -> None:
    for name, mailboxes in mailboxes_by_address.find_mailboxes(address, provider):
        if not mailboxes.has_folder(address, folder):
            raise LookupError(f"{name} mailbox {address} has no folder {folder}")


def _add_call_routes(app: FastAPI, state: ProviderState, mailboxes_by_address: MailboxDirectory) -> None:
    @app.get("/sandbox/calls")
    async def list_calls(
        mailbox: str | None = None, provider: ProviderName | None = None, after: int = 0
    ) -> dict[str, list[dict[str, object]]]:
        if mailbox is not None:
            mailboxes_by_address.find_mailboxes(mailbox, provider)
        return {"items": state.calls.list_calls(mailbox=mailbox, provider=provider, after=after)}

    @app.get("/sandbox/units")
    async def sum_units(
        mailbox: str | None = None,
        provider: ProviderName | None = None,
        after: int = 0,
        window_s: Annotated[float, Query(gt=0)] = 60.0,
    ) -> dict[str, list[dict[str, object]]]:
        """What each mailbox's calls cost since call number `after`: quota units at Gmail, one a call at Graph."""
        if mailbox is not None:
            mailboxes_by_address.find_mailboxes(mailbox, provider)
        return {"items": state.calls.sum_units(mailbox=mailbox, provider=provider, after=after, window_s=window_s)}

    @app.delete("/sandbox/calls")
    async def forget_calls() -> dict[str, int]:
        return {"forgotten": state.calls.forget_calls()}


def _add_push_routes(
    app: FastAPI, state: ProviderState, microsoft: Microsoft, mailboxes_by_address: MailboxDirectory
) -> None:
    store = state.store

    @app.get("/sandbox/subscriptions")
    async def list_subscriptions() -> dict[str, list[dict[str, object]]]:
        """Without their secrets."""
        rows = store.select_rows("select * from subscription order by created_ms, subscription_id")
        return {"items": [{name: row[name] for name in row.keys() if name != "client_state"} for row in rows]}  # noqa: SIM118 - a sqlite3.Row

    @app.delete("/sandbox/subscriptions/{subscription_id}")
    async def remove_subscription_silently(subscription_id: str) -> dict[str, int]:
        """The subscription is silently gone: nobody is told."""
        return {"removed": store.execute_sql("delete from subscription where subscription_id = ?", subscription_id)}

    @app.get("/sandbox/watches")
    async def list_watches() -> dict[str, list[dict[str, object]]]:
        rows = store.select_rows("select m.address, w.topic, w.expires_ms from watch w join mailbox m using (user_id)")
        return {"items": [dict(row) for row in rows]}

    @app.post("/sandbox/lifecycle")
    async def send_lifecycle_event(body: Lifecycle) -> dict[str, int]:
        ids = [body.subscription_id] if body.subscription_id else _list_subscription_ids(state, body.address)
        return {"sent": sum(microsoft.notifications.send_lifecycle_event(one, body.event) for one in ids if one)}

    @app.post("/sandbox/tokens/expire")
    async def expire_tokens(body: Annotated[MailboxSelection, Body()]) -> dict[str, int]:
        """Access tokens end now; refresh tokens stay. Without an address those of applications end too."""
        if body.address is None:
            providers = [body.provider] if body.provider else ["outlook", "gmail"]
            return {"expired": sum(state.tokens.expire_access(provider, None) for provider in providers)}
        whose = mailboxes_by_address.list_user_ids(body.address, body.provider)
        return {"expired": sum(state.tokens.expire_access(provider, user_id) for provider, user_id in whose)}

    @app.post("/sandbox/grants/revoke")
    async def revoke_grants(body: Annotated[MailboxSelection, Body()]) -> dict[str, int]:
        """The user or an administrator ends all grants: refresh tokens die (at Google access tokens too)."""
        whose = mailboxes_by_address.list_user_ids(body.address, body.provider)
        return {
            "revoked": sum(
                state.tokens.revoke_user_grants(provider, user_id, access_too=provider == "gmail")
                for provider, user_id in whose
            )
        }

    @app.get("/sandbox/notifications")
    async def list_notifications() -> dict[str, object]:
        """How many wait, how often they were tried at most, and what became of the others; without bodies."""
        rows = store.select_rows("select seq, channel, url, at_ms, status, attempts from delivered order by seq")
        return {
            "waiting": state.dispatcher.count_waiting(),
            "most_attempts": store.select_number("select max(attempts) from outgoing"),
            "items": [dict(row) for row in rows],
        }

    @app.post("/sandbox/notifications/hurry")
    async def retry_pushes_now() -> dict[str, int]:
        """What waits for its next attempt is tried now."""
        return {"hurried": state.dispatcher.retry_now()}

    @app.post("/sandbox/notifications/resend")
    async def resend_pushes(body: Annotated[Resend, Body()]) -> dict[str, int]:
        if body.address is None:
            return {"sent": state.dispatcher.send_again(body.last)}
        whose = mailboxes_by_address.list_user_ids(body.address, body.provider)
        return {"sent": sum(state.dispatcher.send_again(body.last, user_id) for _, user_id in whose)}


def _add_fault_routes(app: FastAPI, state: ProviderState, mailboxes_by_address: MailboxDirectory) -> None:
    @app.get("/sandbox/faults")
    async def list_faults() -> dict[str, object]:
        """What is switched on, and every switch with its parameters."""
        active = [
            {"name": fault.name, "mailbox": mailbox, **fault.model_dump()}
            for mailbox, fault in state.faults.list_active()
        ]
        known = {name: {"help": fault.__doc__, "schema": fault.model_json_schema()} for name, fault in FAULTS.items()}
        return {"items": active, "known": known}

    def must_exist(name: str, mailbox: str | None) -> None:
        if name not in FAULTS:
            raise HTTPException(404, f"no fault {name}; there are {', '.join(sorted(FAULTS))}")
        if mailbox is not None and mailbox != EVERY_MAILBOX:
            mailboxes_by_address.find_mailboxes(mailbox, None)

    @app.put("/sandbox/faults/{name}")
    async def set_fault(
        name: str, parameters: Annotated[dict[str, object], Body()], mailbox: str = EVERY_MAILBOX
    ) -> dict[str, object]:
        must_exist(name, mailbox)
        try:
            fault = FAULTS[name].model_validate(parameters)
        except ValidationError as error:
            raise HTTPException(422, error.errors(include_url=False, include_context=False)) from error
        state.faults.switch_on(fault, mailbox)
        return {"name": name, "mailbox": mailbox, **fault.model_dump()}

    @app.delete("/sandbox/faults")
    async def clear_faults(mailbox: str | None = None) -> dict[str, int]:
        return {"cleared": state.faults.switch_off(mailbox=mailbox)}

    @app.delete("/sandbox/faults/{name}")
    async def clear_fault(name: str, mailbox: str | None = None) -> dict[str, int]:
        must_exist(name, mailbox)
        return {"cleared": state.faults.switch_off(name, mailbox)}

    @app.post("/sandbox/cursors/refuse")
    async def refuse_cursors(body: Annotated[MailboxSelection, Body()]) -> dict[str, str]:
        """Every token and history id given out until now is refused for good."""
        if body.address is None:
            raise HTTPException(422, "address is required")
        for _, mailboxes in mailboxes_by_address.find_mailboxes(body.address, body.provider):
            mailboxes.refuse_cursors(body.address)
        return {"address": body.address}


def _list_subscription_ids(state: ProviderState, address: str | None) -> list[str]:
    rows = state.store.select_rows(
        "select s.subscription_id from subscription s join mailbox m using (user_id)"
        " where m.provider = 'outlook' and m.address = coalesce(?, m.address)",
        address,
    )
    return [row["subscription_id"] for row in rows]

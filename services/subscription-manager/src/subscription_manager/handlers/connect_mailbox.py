"""A user connects a mailbox: from the ticket of a link, over the provider's consent, to an active doc source.

link ──ticket──▶ page ──button──▶ begin: state, cookie, PKCE ──▶ provider ──code──▶ finish ──▶ active
"""

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256

import orjson

from mailroom_common.errors import MailroomError, Rejected, Retryable
from mailroom_common.events import Provider, SyncReason
from mailroom_common.logs import get_logger
from mailroom_common.providers.ports import Consent
from mailroom_common.providers.types import Account, Grant
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import StoredTokens
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, State, user_key
from subscription_manager.handlers.make_doc_source import Timings
from subscription_manager.ports import AlreadyConnected, Connections, Flow, Flows, Grants, Locks, Ticket, Wakes

log = get_logger()


class FlowRefused(MailroomError):
    """Why a person cannot go on, in a sentence for them. Holds no ticket, code or token."""


class GrantUnneeded(FlowRefused):
    """The doc source is gone or cannot be: nobody else will give back what the person has just granted."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Where to send the browser, and the cookie that binds it. `flow_id` names the cookie."""

    url: str = field(repr=False)
    flow_id: str
    cookie: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the provider sent the browser back with."""

    state: str = field(repr=False)
    code: str | None = field(repr=False)
    error: str | None


class ConnectMailbox:
    def __init__(
        self,
        connections: Connections,
        flows: Flows,
        grants: Grants,
        locks: Locks,
        connect: Mapping[str, Consent],
        keys: SealingKeys,
        public_url: str,
        timings: Timings,
        wake: Wakes,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._flows = flows
        self._grants = grants
        self._locks = locks
        self._connect = connect
        self._keys = keys
        self._public_url = public_url
        self._timings = timings
        self._wake = wake
        self._clock = clock

    async def look_at(self, provider: Provider, ticket: str) -> Connection:
        """What a link is for. It uses nothing up: mail programs open links to look at them.

        Raises:
            FlowRefused: the link is used, too old, or none of ours.
        """
        _, connection = await self._opened(provider, ticket)
        return connection

    async def begin(self, provider: Provider, ticket: str) -> Sent:
        """The button was pressed: the ticket is used up, and the browser goes to the provider."""
        opened, connection = await self._opened(provider, ticket)
        state, cookie, verifier, nonce = (secrets.token_urlsafe(32) for _ in range(4))
        url = await self._consents(provider).build_authorize_url(
            connection.provider_tenant,
            profile=connection.profile,
            redirect_uri=self._redirect_uri(provider),
            state=state,
            nonce=nonce,
            code_challenge=urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("="),
            login_hint=connection.address,
        )
        now = self._clock()
        is_mine = await self._flows.use_ticket(
            opened.id,
            now,
            state_sha256=_digest(state),
            cookie_sha256=_digest(cookie),
            sealed=self._keys.seal(orjson.dumps({"verifier": verifier, "nonce": nonce}), bound_to=_bound_to(opened.id)),
            flow_expires_at=now + self._timings.flow_lifetime,
        )
        if not is_mine:
            raise FlowRefused("This link has been used already. Ask for a new one.")
        return Sent(url, opened.id, cookie)

    async def finish(self, provider: Provider, answer: Answer, cookie_of: Callable[[str], str | None]) -> Connection:
        """The browser came back. `cookie_of` gives the cookie of a flow.

        Raises:
            FlowRefused: with what a person can do about it.
        """
        flow = await self._returned(answer, cookie_of)
        connection = await self._connections.find(flow.doc_source_id)
        if connection is None or connection.provider is not provider or connection.state is State.DELETING:
            raise FlowRefused("This connection does not exist any more.")
        if answer.code is None:
            log.info("consent_declined", doc_source_id=connection.id, error=_word(answer.error))
            raise FlowRefused("The provider did not give access. You can ask for a new link and try again.")
        grant, account = await self._redeem(connection, flow, answer.code)
        return await self._connected(connection, grant, account)

    async def _opened(self, provider: Provider, ticket: str) -> tuple[Ticket, Connection]:
        opened = await self._flows.ticket(_digest(ticket)) if ticket else None
        connection = None if opened is None else await self._connections.find(opened.doc_source_id)
        if opened is None or connection is None or connection.provider is not provider:
            raise FlowRefused("This link is not valid. Ask for a new one.")
        if opened.is_used:
            raise FlowRefused("This link has been used already. Ask for a new one.")
        if opened.expires_at <= self._clock() or connection.state is State.DELETING:
            raise FlowRefused("This link has expired. Ask for a new one.")
        return opened, connection

    async def _returned(self, answer: Answer, cookie_of: Callable[[str], str | None]) -> Flow:
        """The flow of this state, if this is the browser that began it. It is over from here on, whatever comes."""
        flow = await self._flows.flow(_digest(answer.state)) if answer.state else None
        if flow is None:
            raise FlowRefused("This answer belongs to no connection that was begun here. Ask for a new link.")
        if not hmac.compare_digest(_digest(cookie_of(flow.id) or ""), flow.cookie_sha256):
            log.warning("oauth_cookie_mismatch", doc_source_id=flow.doc_source_id)
            raise FlowRefused("This was begun in another browser. Open the link again where you want to go on.")
        now = self._clock()
        if flow.expires_at <= now or not await self._flows.finish(flow.id, now):
            raise FlowRefused("This took too long, or was done already. Ask for a new link.")
        return flow

    async def _redeem(self, connection: Connection, flow: Flow, code: str) -> tuple[Grant, Account]:
        kept = orjson.loads(self._keys.open(flow.sealed, bound_to=_bound_to(flow.id)))
        consents = self._consents(connection.provider)
        try:
            grant = await consents.exchange_code(
                connection.provider_tenant,
                profile=connection.profile,
                code=code,
                redirect_uri=self._redirect_uri(connection.provider),
                code_verifier=kept["verifier"],
                nonce=kept["nonce"],
            )
            account = await consents.identify_account(grant)
        except Rejected as error:
            log.warning("consent_not_usable", doc_source_id=connection.id, reason=str(error))
            raise FlowRefused(
                "The provider's answer was not what it must be: perhaps not every permission was given. "
                "Ask for a new link and try again."
            ) from error
        if grant.refresh_token is None:
            raise FlowRefused("The provider gave access for this moment only. Ask for a new link and try again.")
        return grant, account

    async def _connected(self, connection: Connection, grant: Grant, account: Account) -> Connection:
        # Ending an account's last connection takes these locks too, the user's where it never knew the address: its
        # revoke must not meet the new grant.
        async with (
            self._locks.account(connection.provider, account.address.lower()),
            self._locks.account(connection.provider, user_key(account.user_id)),
        ):
            try:
                connected = await self._store(connection, grant, account)
            except GrantUnneeded:
                await self._give_back(connection, grant, account)
                raise
        self._wake.set()
        log.info("mailbox_connected", doc_source_id=connection.id, grant_generation=connected.grant_generation)
        return connected

    async def _store(self, connection: Connection, grant: Grant, account: Account) -> Connection:
        """Whatever fails once the grant is stored leaves it with a `pending` doc source: the next consent replaces it,
        and a delete gives it back."""
        await self._check_user(connection, account)
        tokens = StoredTokens(grant.access_token, grant.refresh_token, grant.expires_at)
        generation = await self._grants.put_grant(
            connection.id, connection.provider, account.user_id, tokens, grant.scopes
        )
        return await self._activate(connection, account, generation)

    async def _give_back(self, connection: Connection, grant: Grant, account: Account) -> None:
        """A revoke at Google ends every grant of the account with us, so it is left out while another one lives."""
        await self._grants.forget(connection.id)
        of_account = replace(connection, address=account.address, provider_user_id=account.user_id)
        if grant.refresh_token is None or await self._connections.others_of_account(of_account):
            return
        try:
            await self._consents(connection.provider).revoke_grant(grant.refresh_token)
        except Retryable as error:
            # Nobody has it any more; what is left is an entry in the list of applications of its user.
            log.warning("grant_not_revoked", doc_source_id=connection.id, reason=str(error))

    async def _check_user(self, connection: Connection, account: Account) -> None:
        newest = await self._connections.find(connection.id)
        if newest is None or newest.state is State.DELETING:
            raise _not_there(newest)
        if newest.provider_user_id is not None and newest.provider_user_id != account.user_id:
            log.warning("reconnect_by_another_user", doc_source_id=connection.id)
            raise FlowRefused("This is another mailbox than the one that was connected. Sign in with that one.")

    async def _activate(self, connection: Connection, account: Account, generation: int) -> Connection:
        """One transaction: active, `start_at`, and the first sync request. Mail flows by the backstop from here on."""
        now = self._clock()
        try:
            async with self._connections.change(connection.id) as change:
                if change is None or change.connection.state is State.DELETING:
                    raise _not_there(None if change is None else change.connection)
                consented = transitions.consented(
                    change.connection,
                    account,
                    generation=generation,
                    now=now,
                    start_at=now - self._timings.start_margin,
                    backstop_at=self._timings.first_backstop_at(now),
                )
                return await change.save(consented, ask=SyncReason.CONNECT)
        except AlreadyConnected as error:
            raise GrantUnneeded("This mailbox is connected for this purpose already.") from error

    def _consents(self, provider: Provider) -> Consent:
        consents = self._connect.get(provider)
        if consents is None:
            raise FlowRefused("This provider is not set up here.")
        return consents

    def _redirect_uri(self, provider: Provider) -> str:
        return f"{self._public_url}/oauth/{provider}/callback"


def _not_there(newest: Connection | None) -> FlowRefused:
    said = "This connection does not exist any more."
    # One whose end is yet to come needs a grant for it, and its end gives the grant back.
    return FlowRefused(said) if newest is not None and newest.ended_at is None else GrantUnneeded(said)


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _bound_to(flow_id: str) -> str:
    return f"oauth_request:{flow_id}"


def _word(error: str | None) -> str:
    """An OAuth error code and nothing else: the parameter comes from the browser."""
    return error if error is not None and len(error) < 50 and error.replace("_", "").isalnum() else "other"

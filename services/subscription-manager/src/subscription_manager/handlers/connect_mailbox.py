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

from mailroom_common.errors import ActionRequired, Rejected, Retryable
from mailroom_common.events import SyncReason
from mailroom_common.logs import get_logger
from mailroom_common.providers.ports import Consent
from mailroom_common.providers.types import Account, Grant
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import StoredTokens
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    PendingReason,
    build_user_key,
    hash_consent_scope,
)
from subscription_manager.domain.folder_names import find_missing_folders
from subscription_manager.handlers.consent_outcomes import ConsentOutcome, ConsentOutcomes
from subscription_manager.handlers.consent_refusals import (
    OUTCOME_UNKNOWN,
    PROVIDER_AWAY,
    ConsentRefused,
    GrantUnneeded,
    refuse_changed,
    refuse_deleted,
    refuse_unverified,
)
from subscription_manager.handlers.create_doc_source import ConnectionDurations
from subscription_manager.ports import (
    ConnectionLocks,
    ConnectionStore,
    ConsentFlow,
    ConsentFlowStore,
    ConsentTicket,
    GrantStore,
    MailboxAlreadyConnected,
    WakeSignal,
)

log = get_logger()


@dataclass(frozen=True, slots=True)
class AuthorizationRedirect:
    """Where to send the browser, and the cookie that binds it. `flow_id` names the cookie."""

    url: str = field(repr=False)
    flow_id: str
    cookie: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class AuthorizationResponse:
    """What the provider sent the browser back with."""

    state: str = field(repr=False)
    code: str | None = field(repr=False)
    error: str | None


class ConnectMailbox:
    def __init__(
        self,
        connections: ConnectionStore,
        flows: ConsentFlowStore,
        grants: GrantStore,
        locks: ConnectionLocks,
        consents: Mapping[str, Consent],
        keys: SealingKeys,
        outcomes: ConsentOutcomes,
        public_url: str,
        durations: ConnectionDurations,
        wake: WakeSignal,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._flows = flows
        self._grants = grants
        self._locks = locks
        self._consents = consents
        self._keys = keys
        self._outcomes = outcomes
        self._public_url = public_url
        self._durations = durations
        self._wake = wake
        self._clock = clock

    async def inspect_ticket(self, provider: str, ticket: str) -> Connection:
        """What a link is for. It uses nothing up: mail programs open links to preview them.

        Raises:
            ConsentRefused: the link is used, too old, or none of ours.
        """
        _, connection = await self._find_ticket(provider, ticket)
        return connection

    async def begin_consent(
        self, provider: str, ticket: str, *, shown_scope: str | None = None
    ) -> AuthorizationRedirect:
        """The button was pressed: the ticket is used up, and the browser goes to the provider.

        `shown_scope`: the hash of what the page said, None where no page was looked at.
        """
        opened, connection = await self._find_ticket(provider, ticket)
        scope = hash_consent_scope(connection)
        if shown_scope is not None and shown_scope != scope:
            raise ConsentRefused("What is asked for has changed since you opened this page. Open the link again.")
        # The state travels through the browser and the provider; the cookie stays with the browser and proves that the
        # one that comes back is the one that was sent; verifier and nonce never leave us but as a hash.
        state, cookie, verifier, nonce = (secrets.token_urlsafe(32) for _ in range(4))
        url = await self._require_consent(provider).build_authorize_url(
            connection.provider_tenant,
            profile=connection.profile,
            redirect_uri=self._build_redirect_uri(provider),
            state=state,
            nonce=nonce,
            code_challenge=urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("="),
            login_hint=connection.address,
        )
        now = self._clock()
        is_first = await self._flows.redeem_ticket(
            opened.id,
            now,
            state_sha256=_hash_secret(state),
            cookie_sha256=_hash_secret(cookie),
            sealed_flow_secrets=self._keys.seal_secret(
                orjson.dumps({"verifier": verifier, "nonce": nonce, "scope": scope}), bound_to=_bind_to_flow(opened.id)
            ),
            flow_expires_at=now + self._durations.flow_lifetime,
        )
        # Two that press the button of one link at once both got as far as here.
        if not is_first:
            raise ConsentRefused("This link has been used already. Ask for a new one.")
        return AuthorizationRedirect(url, opened.id, cookie)

    async def finish_consent(
        self, provider: str, response: AuthorizationResponse, find_cookie: Callable[[str], str | None]
    ) -> Connection:
        """The browser came back. `find_cookie` gives the browser's cookie of a flow id. An answer that it brings again
        has the outcome that it had.

        Raises:
            ConsentRefused: with what the user can do about it.
        """
        flow = await self._find_flow(response, find_cookie)
        if not await self._claim_flow(flow):
            return await self._repeat_outcome(provider, flow, response)
        try:
            connection = await self._finish_first(provider, flow, response)
        except ConsentRefused as refusal:
            await self._outcomes.store_outcome(flow, ConsentOutcome(str(refusal)))
            raise
        except (Retryable, ActionRequired):
            await self._outcomes.store_outcome(flow, ConsentOutcome(PROVIDER_AWAY))
            raise
        except Exception:
            # Nobody foresaw it. It is logged where it ends; whoever brings the answer again need not wait for an end.
            await self._outcomes.store_outcome(flow, ConsentOutcome(OUTCOME_UNKNOWN))
            raise
        await self._outcomes.store_outcome(flow, ConsentOutcome(None))
        return connection

    async def _repeat_outcome(self, provider: str, flow: ConsentFlow, response: AuthorizationResponse) -> Connection:
        outcome = await self._outcomes.wait_for_outcome(_hash_secret(response.state), self._clock())
        if outcome is None:
            raise ConsentRefused(
                "This was begun already, and has not ended yet. Load this page again in a minute; if it says the same "
                "then, ask for a new link."
            )
        if outcome.refusal is not None:
            raise ConsentRefused(outcome.refusal)
        return await self._find_connectable(provider, flow)

    async def _finish_first(self, provider: str, flow: ConsentFlow, response: AuthorizationResponse) -> Connection:
        connection = await self._find_connectable(provider, flow)
        try:
            grant, account = await self._redeem_answer(connection, flow, response)
            return await self._connect_account(connection, grant, account)
        except ConsentRefused as refusal:
            await self._record_refusal(connection.id, refusal)
            raise

    async def _find_connectable(self, provider: str, flow: ConsentFlow) -> Connection:
        connection = await self._connections.find_connection(flow.doc_source_id)
        if connection is None or connection.provider != provider or connection.state is ConnectionState.DELETING:
            raise ConsentRefused("This connection does not exist any more.")
        return connection

    async def _record_refusal(self, doc_source_id: str, refusal: ConsentRefused) -> None:
        """A doc source that stays pending says why: only the person at the browser has seen the page."""
        if refusal.reason is None:
            return
        async with self._connections.lock_connection(doc_source_id) as locked:
            if locked is not None:
                await locked.save_connection(
                    transitions.record_refused_consent(locked.connection, refusal.reason, refusal.error)
                )

    async def _find_ticket(self, provider: str, ticket: str) -> tuple[ConsentTicket, Connection]:
        opened = await self._flows.find_ticket(_hash_secret(ticket)) if ticket else None
        connection = None if opened is None else await self._connections.find_connection(opened.doc_source_id)
        if opened is None or connection is None or connection.provider != provider:
            raise ConsentRefused("This link is not valid. Ask for a new one.")
        if opened.is_used:
            raise ConsentRefused("This link has been used already. Ask for a new one.")
        if opened.expires_at <= self._clock() or connection.state is ConnectionState.DELETING:
            raise ConsentRefused("This link has expired. Ask for a new one.")
        return opened, connection

    async def _find_flow(
        self, response: AuthorizationResponse, find_cookie: Callable[[str], str | None]
    ) -> ConsentFlow:
        """The flow of this state, if this is the browser that began it."""
        flow = await self._flows.find_flow(_hash_secret(response.state)) if response.state else None
        if flow is None:
            raise ConsentRefused("This answer belongs to no connection that was begun here. Ask for a new link.")
        # Before the flow is finished: a stranger who learned the state must not spoil it for the user.
        if not hmac.compare_digest(_hash_secret(find_cookie(flow.id) or ""), flow.cookie_sha256):
            # The answer came from another browser than the one that began: possibly a stolen or forwarded link.
            log.warning("oauth_cookie_mismatched", doc_source_id=flow.doc_source_id)
            raise ConsentRefused("This was begun in another browser. Open the link again where you want to go on.")
        return flow

    async def _claim_flow(self, flow: ConsentFlow) -> bool:
        """It is finished from here on, whatever comes. False: by another request, perhaps one that still runs."""
        if flow.finished_at is not None:
            return False
        now = self._clock()
        if flow.expires_at <= now:
            raise ConsentRefused("This took too long. Ask for a new link.")
        return await self._flows.finish_flow(flow.id, now)

    async def _redeem_answer(
        self, connection: Connection, flow: ConsentFlow, response: AuthorizationResponse
    ) -> tuple[Grant, Account]:
        if response.code is None:
            error = _clean_error_code(response.error)
            log.info("consent_declined", doc_source_id=connection.id, error=error)
            raise ConsentRefused(
                "The provider did not give access. You can ask for a new link and try again.",
                reason=PendingReason.CONSENT_DECLINED,
                error=f"the provider answered {error}",
            )
        return await self._redeem_code(connection, flow, response.code)

    async def _redeem_code(self, connection: Connection, flow: ConsentFlow, code: str) -> tuple[Grant, Account]:
        sealed = orjson.loads(self._keys.unseal_secret(flow.sealed_flow_secrets, bound_to=_bind_to_flow(flow.id)))
        if connection.state is ConnectionState.PENDING and sealed.get("scope") != hash_consent_scope(connection):
            # Before the code is redeemed: nothing is granted yet.
            raise refuse_changed()
        consent = self._require_consent(connection.provider)
        try:
            grant = await consent.exchange_code(
                connection.provider_tenant,
                profile=connection.profile,
                code=code,
                redirect_uri=self._build_redirect_uri(connection.provider),
                code_verifier=sealed["verifier"],
                nonce=sealed["nonce"],
            )
            account = await consent.identify_account(connection.provider_tenant, grant)
        except Rejected as error:
            # Code, issuer, nonce or scopes were not as required; nothing is stored and the user was told.
            log.warning("consent_rejected", doc_source_id=connection.id, reason=str(error))
            raise ConsentRefused(
                "The provider's answer was not what it must be: perhaps not every permission was given. "
                "Ask for a new link and try again.",
                reason=PendingReason.CONSENT_REJECTED,
                error=str(error),
            ) from error
        if grant.refresh_token is None:
            raise ConsentRefused(
                "The provider gave access for this moment only. Ask for a new link and try again.",
                reason=PendingReason.CONSENT_REJECTED,
                error="the provider gave no refresh token",
            )
        return grant, account

    async def _check_folders(self, connection: Connection, grant: Grant, account: Account) -> None:
        """A name that no folder has would match no mail, silently.

        Only before the first consent: a folder that vanished later must not keep a broken grant from being renewed.
        """
        if not connection.folders or connection.state is not ConnectionState.PENDING:
            return
        mailbox = replace(connection, address=account.address, provider_user_id=account.user_id).build_mailbox()
        try:
            folders = await self._require_consent(connection.provider).list_folders(grant, mailbox)
        except Retryable as error:
            # The provider could not list the folders now; the consent is kept, and a sync reports missing folders.
            log.warning("folder_check_skipped", doc_source_id=connection.id, reason=str(error))
            return
        except (Rejected, ActionRequired) as error:
            # The provider refused to list the folders of the mailbox; the user was told, and the grant is given back.
            log.warning("folder_list_refused", doc_source_id=connection.id, reason=str(error))
            raise GrantUnneeded(
                f"The provider does not show the folders of {account.address}. Ask for a new link and try again.",
                reason=PendingReason.FOLDERS_REFUSED,
                error=str(error),
            ) from error
        if missing := find_missing_folders(connection.folders, folders):
            # A name that no folder has would match no mail, so the connection is refused and the user was told.
            log.warning("consent_refused_folders_missing", doc_source_id=connection.id, count=len(missing))
            raise GrantUnneeded(
                f"{account.address} has no folder or label named {', '.join(missing)}. "
                "Whoever sent you the link has to correct the name.",
                reason=PendingReason.FOLDERS_MISSING,
                error=f"the mailbox has no folder or label named {', '.join(missing)}",
            )

    async def _connect_account(self, connection: Connection, grant: Grant, account: Account) -> Connection:
        # The end of an account's last connection takes these locks too, the user's where it never knew the address:
        # its revocation must not meet the new grant.
        async with (
            self._locks.lock_account(connection.provider, account.address.lower()),
            self._locks.lock_account(connection.provider, build_user_key(account.user_id)),
        ):
            try:
                connected = await self._store_grant(connection, grant, account)
            except GrantUnneeded:
                await self._give_grant_back(connection, grant, account)
                raise
        # After the locks are given back: the creation of the subscription takes the account's lock.
        self._wake.set()
        log.info("mailbox_connected", doc_source_id=connection.id, grant_generation=connected.grant_generation)
        return connected

    async def _store_grant(self, connection: Connection, grant: Grant, account: Account) -> Connection:
        """Whatever fails once the grant is stored leaves it with a `pending` doc source: the next consent replaces it,
        and a delete gives it back."""
        newest = await self._check_user(connection, account)
        self._check_address(newest, account)
        await self._check_folders(newest, grant, account)
        # The grant before the doc source: an active connection without a grant could not be synced, while a grant of a
        # pending one is found by the next consent or by the delete.
        tokens = StoredTokens(grant.access_token, grant.refresh_token, grant.expires_at)
        generation = await self._grants.put_grant(
            connection.id, connection.provider, account.user_id, tokens, grant.scopes
        )
        return await self._activate_connection(connection, account, generation)

    async def _give_grant_back(self, connection: Connection, grant: Grant, account: Account) -> None:
        await self._grants.forget_grant(connection.id)
        if grant.refresh_token is None:
            return
        consent = self._require_consent(connection.provider)
        of_account = replace(connection, address=account.address, provider_user_id=account.user_id)
        # The revocation may end every grant of the account with us.
        if consent.traits.revocation_ends_account and await self._connections.list_others_of_account(of_account):
            return
        try:
            await consent.revoke_grant(grant.refresh_token)
        except Retryable as error:
            # We have forgotten it; what is left is an entry in the user's list of applications.
            log.warning("grant_revocation_failed", doc_source_id=connection.id, reason=str(error))

    async def _check_user(self, connection: Connection, account: Account) -> Connection:
        """The doc source as it is now."""
        # Read anew under the account's locks: the user took a while at the provider.
        newest = await self._connections.find_connection(connection.id)
        if newest is None or newest.state is ConnectionState.DELETING:
            raise refuse_deleted(newest)
        if newest.provider_user_id is not None and newest.provider_user_id != account.user_id:
            # A reconnect must be by the user that was connected before, so that a source never changes its mailbox.
            log.warning("reconnect_refused", doc_source_id=connection.id)
            raise ConsentRefused("This is another mailbox than the one that was connected. Sign in with that one.")
        return newest

    def _check_address(self, connection: Connection, account: Account) -> None:
        """A doc source that names an address is for that mailbox and no other.

        Only before the first consent: from then on the provider's user id counts, and its address may have changed.
        """
        if connection.address is None or connection.provider_user_id is not None:
            return
        normalize = self._require_consent(connection.provider).traits.normalize_address
        named = normalize(connection.address)
        if named in map(normalize, account.verified_addresses):
            return
        if named in map(normalize, (account.address, *account.aliases)):
            raise refuse_unverified(connection, account)
        # Another mailbox signed in than the doc source names: nothing is stored and the user was told.
        log.warning("consent_refused_other_mailbox", doc_source_id=connection.id)
        raise GrantUnneeded(
            f"You signed in as {account.address}, but this link is for {connection.address}. "
            "Sign out there, ask for a new link, and sign in with that mailbox.",
            reason=PendingReason.OTHER_MAILBOX,
            # Whose mailbox signed in instead is no business of whoever sent the link.
            error=f"another mailbox than {connection.address} signed in",
        )

    async def _activate_connection(self, connection: Connection, account: Account, generation: int) -> Connection:
        """One transaction: active, `start_at`, and the first sync request. Mail flows by the backstop from here on."""
        now = self._clock()
        try:
            async with self._connections.lock_connection(connection.id) as locked:
                # It may have been deleted between the check of the user and this lock.
                if locked is None or locked.connection.state is ConnectionState.DELETING:
                    raise refuse_deleted(None if locked is None else locked.connection)
                if locked.connection.state is ConnectionState.PENDING and (
                    hash_consent_scope(locked.connection) != hash_consent_scope(connection)
                ):
                    raise refuse_changed()
                published = locked.connection.grant_generation
                if generation <= published:
                    # Readers of the topic know a later grant: one that a restored database has lost, or of a consent
                    # that came in between. They would refuse this one with that.
                    generation = await self._grants.raise_generation(connection.id, above=published)
                consented = transitions.record_consent(
                    locked.connection,
                    account,
                    generation=generation,
                    now=now,
                    start_at=now - self._durations.start_margin,
                    next_backstop_at=self._durations.choose_first_backstop(now),
                )
                return await locked.save_connection(consented, request_sync=SyncReason.CONNECT)
        except MailboxAlreadyConnected as error:
            raise GrantUnneeded(
                "This mailbox is connected for this purpose already.", reason=PendingReason.ALREADY_CONNECTED
            ) from error

    def _require_consent(self, provider: str) -> Consent:
        consent = self._consents.get(provider)
        if consent is None:
            raise ConsentRefused("This provider is not set up here.")
        return consent

    def _build_redirect_uri(self, provider: str) -> str:
        return f"{self._public_url}/oauth/{provider}/callback"


def _hash_secret(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _bind_to_flow(flow_id: str) -> str:
    return f"oauth_request:{flow_id}"


def _clean_error_code(error: str | None) -> str:
    """An OAuth error code and nothing else: the parameter is untrusted input from the browser."""
    return error if error is not None and len(error) < 50 and error.replace("_", "").isalnum() else "other"

"""Access tokens for mailboxes: from memory, from the store, or from the provider, one refresh at a time per grant.

A grant's refresh runs under the store's row lock, so that a second process waits and then finds the fresh token; a
refreshed pair is committed before anybody sees the access token. What a grant of an older generation meets neither
overwrites nor condemns a newer one. Application access has no grant: its tokens live in this process only.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from mailroom_common.errors import AccessDenied, MailroomError, TokenRefused
from mailroom_common.events import Access
from mailroom_common.metrics import TOKEN_REFRESHES
from mailroom_common.providers.ports import ApplicationTokenIssuer, GrantRefresher
from mailroom_common.providers.types import Mailbox
from mailroom_common.tokens.store import Refreshing, StoredGrant, StoredTokens, TokenStore

# A token that is about to expire is not spent: the call it goes with may reach the provider late.
_LEAST_LEFT = timedelta(minutes=2)
_MOST_CACHED = 4096


@dataclass(frozen=True, slots=True)
class _Held:
    token: str = field(repr=False)
    expires_at: datetime
    generation: int


class AccessTokens:
    def __init__(
        self,
        store: TokenStore,
        refreshers: Mapping[str, GrantRefresher],
        applications: Mapping[str, ApplicationTokenIssuer],
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._refreshers = refreshers
        self._applications = applications
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._running: dict[str, asyncio.Task[_Held]] = {}

    async def get_access_token(self, mailbox: Mailbox, *, rejected: str | None = None) -> str:
        """A token with more than two minutes left, and another than `rejected`, which the provider answered 401.

        Raises:
            TokenRefused: consent is needed again; names the generation that was refused.
            AccessDenied: application access is not set up at this provider, or not allowed.
            ProviderUnavailable, Throttled: the token endpoint did not answer, or not now.
        """
        if mailbox.access is Access.APPLICATION:
            issuer = self._application(mailbox)
            key = f"application:{mailbox.provider}:{issuer.build_cache_key(mailbox)}"
            return await self._shared(key, mailbox, rejected, lambda: self._issued(issuer, mailbox))
        return await self._shared(mailbox.doc_source_id, mailbox, rejected, lambda: self._granted(mailbox, rejected))

    async def aclose(self) -> None:
        """Let refreshes under way come to an end: a rotated token that is not stored is a lost connection."""
        if self._running:
            await asyncio.wait(set(self._running.values()), timeout=5)

    async def _shared(
        self, key: str, mailbox: Mailbox, rejected: str | None, obtain: Callable[[], Awaitable[_Held]]
    ) -> str:
        """From memory, else from the one task of this process that obtains it for all who ask meanwhile.

        The task is shielded: who asked may be cancelled between the provider's answer and its being stored.
        """
        held = self._held.get(key)
        if held and self._is_usable(held, rejected) and held.generation >= self._generation(mailbox):
            return held.token
        while True:
            task = self._running.get(key)
            mine = task is None
            if task is None:
                task = self._running[key] = asyncio.ensure_future(self._obtain(key, obtain))
                task.add_done_callback(lambda done: done.cancelled() or done.exception())
            held = await asyncio.shield(task)
            if mine or self._is_usable(held, rejected):
                return held.token

    async def _obtain(self, key: str, obtain: Callable[[], Awaitable[_Held]]) -> _Held:
        try:
            self._held.pop(key, None)
            held = await obtain()
            while len(self._held) >= _MOST_CACHED:
                self._held.pop(next(iter(self._held)))
            self._held[key] = held
            return held
        finally:
            del self._running[key]

    async def _granted(self, mailbox: Mailbox, rejected: str | None) -> _Held:
        grant = await self._store.read(mailbox.doc_source_id)
        if grant is None:
            raise _no_grant(mailbox)
        _refuse_again(grant)
        if self._is_usable(held := _held(grant), rejected):
            return held
        return await self._refreshed(mailbox, rejected)

    async def _refreshed(self, mailbox: Mailbox, rejected: str | None) -> _Held:
        async with self._store.refreshing(mailbox.doc_source_id) as locked:
            if locked is None:
                raise _no_grant(mailbox)
            _refuse_again(locked.grant)
            if self._is_usable(held := _held(locked.grant), rejected):
                return held  # another process refreshed it while this one waited for the lock
            outcome = await self._refresh(mailbox, locked)
        # Only now is it committed, a refusal too: raising inside the block would have undone the mark.
        if isinstance(outcome, TokenRefused):
            raise TokenRefused(str(outcome), grant_generation=locked.grant.generation) from outcome
        return _Held(outcome.access_token, outcome.expires_at, locked.grant.generation)

    async def _refresh(self, mailbox: Mailbox, locked: Refreshing) -> StoredTokens | TokenRefused:
        before = locked.grant.tokens
        try:
            if before.refresh_token is None:
                raise TokenRefused("the grant has no refresh token", grant_generation=locked.grant.generation)
            fresh = await self._refresher(mailbox).refresh_grant(mailbox, before.refresh_token)
        except TokenRefused as refusal:
            await locked.mark_refused()
            TOKEN_REFRESHES.labels(mailbox.provider, "refused").inc()
            return refusal
        except MailroomError:
            TOKEN_REFRESHES.labels(mailbox.provider, "failed").inc()
            raise
        # Google sends no new refresh token; Microsoft sends one each time.
        tokens = StoredTokens(fresh.access_token, fresh.refresh_token or before.refresh_token, fresh.expires_at)
        await locked.replace(tokens)
        TOKEN_REFRESHES.labels(mailbox.provider, "fresh").inc()
        return tokens

    async def _issued(self, issuer: ApplicationTokenIssuer, mailbox: Mailbox) -> _Held:
        issued = await issuer.issue_token(mailbox)
        return _Held(issued.access_token, issued.expires_at, generation=0)

    def _refresher(self, mailbox: Mailbox) -> GrantRefresher:
        refresher = self._refreshers.get(mailbox.provider)
        if refresher is None:
            raise AccessDenied(f"the client id and secret of {mailbox.provider} are not set")
        return refresher

    def _application(self, mailbox: Mailbox) -> ApplicationTokenIssuer:
        issuer = self._applications.get(mailbox.provider)
        if issuer is None:
            raise AccessDenied(f"application access to {mailbox.provider} is not set up")
        return issuer

    def _is_usable(self, held: _Held, rejected: str | None) -> bool:
        return held.token != rejected and held.expires_at - self._clock() > _LEAST_LEFT

    def _generation(self, mailbox: Mailbox) -> int:
        return 0 if mailbox.access is Access.APPLICATION else mailbox.grant_generation


def _held(grant: StoredGrant) -> _Held:
    return _Held(grant.tokens.access_token, grant.tokens.expires_at, grant.generation)


def _refuse_again(grant: StoredGrant) -> None:
    """A refused generation stays refused until the next consent: no refresh loop."""
    if grant.refused_at is not None:
        raise TokenRefused("the provider has refused this grant", grant_generation=grant.generation)


def _no_grant(mailbox: Mailbox) -> TokenRefused:
    return TokenRefused("there is no grant for this doc source", grant_generation=mailbox.grant_generation)

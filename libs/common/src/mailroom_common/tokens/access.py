"""Access tokens for mailboxes: from memory, the token store or the provider, with one refresh per grant at a time.

A grant's refresh runs under the store's row lock, so that a second process waits and then finds the fresh token; a
refreshed pair is committed before the access token is used. A refusal of an older generation neither overwrites nor
invalidates a newer grant. Application access has no grant: its tokens live in this process only.
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
from mailroom_common.tokens.store import LockedGrant, StoredGrant, StoredTokens, TokenStore

# A token that is about to expire is not spent: the call it goes with may reach the provider late.
_MIN_REMAINING = timedelta(minutes=2)
_MAX_CACHED = 4096


@dataclass(frozen=True, slots=True)
class _CachedToken:
    token: str = field(repr=False)
    expires_at: datetime
    grant_generation: int


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
        self._cached: dict[str, _CachedToken] = {}
        self._running: dict[str, asyncio.Task[_CachedToken]] = {}

    async def get_access_token(self, mailbox: Mailbox, *, rejected: str | None = None) -> str:
        """A token with more than two minutes left, and another than `rejected`, which the provider answered 401.

        Raises:
            TokenRefused: consent is needed again; names the generation that was refused.
            AccessDenied: application access is not set up at this provider, or not allowed.
            ProviderUnavailable, Throttled: the token endpoint did not answer, or not now.
        """
        if mailbox.access is Access.APPLICATION:
            issuer = self._find_issuer(mailbox)
            key = f"application:{mailbox.provider}:{issuer.build_cache_key(mailbox)}"
            return await self._get_shared_token(
                key, mailbox, rejected, lambda: self._issue_application_token(issuer, mailbox)
            )
        return await self._get_shared_token(
            mailbox.doc_source_id, mailbox, rejected, lambda: self._obtain_granted_token(mailbox, rejected)
        )

    async def aclose(self) -> None:
        """Let refreshes under way come to an end: a rotated token that is not stored is a lost connection."""
        if self._running:
            await asyncio.wait(set(self._running.values()), timeout=5)

    async def _get_shared_token(
        self, key: str, mailbox: Mailbox, rejected: str | None, obtain: Callable[[], Awaitable[_CachedToken]]
    ) -> str:
        """From memory, else from the one task of this process that obtains it for all who ask meanwhile.

        The task is shielded: who asked may be cancelled between the provider's answer and its being stored.
        """
        cached = self._cached.get(key)
        if (
            cached
            and self._is_usable(cached, rejected)
            and cached.grant_generation >= self._required_generation(mailbox)
        ):
            return cached.token
        while True:
            task = self._running.get(key)
            is_ours = task is None
            if task is None:
                task = self._running[key] = asyncio.ensure_future(self._obtain_token(key, obtain))
                task.add_done_callback(lambda done: done.cancelled() or done.exception())
            # A task that another caller began may end with the very token that was rejected here: then once more.
            cached = await asyncio.shield(task)
            if is_ours or self._is_usable(cached, rejected):
                return cached.token

    async def _obtain_token(self, key: str, obtain: Callable[[], Awaitable[_CachedToken]]) -> _CachedToken:
        try:
            self._cached.pop(key, None)
            held = await obtain()
            while len(self._cached) >= _MAX_CACHED:
                self._cached.pop(next(iter(self._cached)))
            self._cached[key] = held
            return held
        finally:
            del self._running[key]

    async def _obtain_granted_token(self, mailbox: Mailbox, rejected: str | None) -> _CachedToken:
        grant = await self._store.read_grant(mailbox.doc_source_id)
        if grant is None:
            raise _build_missing_grant_error(mailbox)
        _require_not_refused(grant)
        if self._is_usable(held := _build_cached_token(grant), rejected):
            return held
        return await self._refresh_under_lock(mailbox, rejected)

    async def _refresh_under_lock(self, mailbox: Mailbox, rejected: str | None) -> _CachedToken:
        async with self._store.lock_for_refresh(mailbox.doc_source_id) as locked:
            if locked is None:
                raise _build_missing_grant_error(mailbox)
            _require_not_refused(locked.grant)
            if self._is_usable(held := _build_cached_token(locked.grant), rejected):
                return held  # another process refreshed it while this one waited for the lock
            outcome = await self._call_refresher(mailbox, locked)
        # Only now is it committed, a refusal too: raising inside the block would have undone the mark.
        if isinstance(outcome, TokenRefused):
            raise TokenRefused(str(outcome), grant_generation=locked.grant.grant_generation) from outcome
        return _CachedToken(outcome.access_token, outcome.expires_at, locked.grant.grant_generation)

    async def _call_refresher(self, mailbox: Mailbox, locked: LockedGrant) -> StoredTokens | TokenRefused:
        before = locked.grant.tokens
        try:
            if before.refresh_token is None:
                raise TokenRefused("the grant has no refresh token", grant_generation=locked.grant.grant_generation)
            fresh = await self._find_refresher(mailbox).refresh_grant(mailbox, before.refresh_token)
        except TokenRefused as refusal:
            await locked.mark_refused()
            TOKEN_REFRESHES.labels(mailbox.provider, "refused").inc()
            return refusal
        except MailroomError:
            TOKEN_REFRESHES.labels(mailbox.provider, "failed").inc()
            raise
        # Google sends no new refresh token; Microsoft sends one each time.
        tokens = StoredTokens(fresh.access_token, fresh.refresh_token or before.refresh_token, fresh.expires_at)
        await locked.replace_tokens(tokens)
        TOKEN_REFRESHES.labels(mailbox.provider, "fresh").inc()
        return tokens

    async def _issue_application_token(self, issuer: ApplicationTokenIssuer, mailbox: Mailbox) -> _CachedToken:
        issued = await issuer.issue_token(mailbox)
        return _CachedToken(issued.access_token, issued.expires_at, grant_generation=0)

    def _find_refresher(self, mailbox: Mailbox) -> GrantRefresher:
        refresher = self._refreshers.get(mailbox.provider)
        if refresher is None:
            raise AccessDenied(f"the client id and secret of {mailbox.provider} are not set")
        return refresher

    def _find_issuer(self, mailbox: Mailbox) -> ApplicationTokenIssuer:
        issuer = self._applications.get(mailbox.provider)
        if issuer is None:
            raise AccessDenied(f"application access to {mailbox.provider} is not set up")
        return issuer

    def _is_usable(self, held: _CachedToken, rejected: str | None) -> bool:
        return held.token != rejected and held.expires_at - self._clock() > _MIN_REMAINING

    def _required_generation(self, mailbox: Mailbox) -> int:
        return 0 if mailbox.access is Access.APPLICATION else mailbox.grant_generation


def _build_cached_token(grant: StoredGrant) -> _CachedToken:
    return _CachedToken(grant.tokens.access_token, grant.tokens.expires_at, grant.grant_generation)


def _require_not_refused(grant: StoredGrant) -> None:
    """A refused generation stays refused until the next consent: no refresh loop."""
    if grant.refused_at is not None:
        raise TokenRefused("the provider has refused this grant", grant_generation=grant.grant_generation)


def _build_missing_grant_error(mailbox: Mailbox) -> TokenRefused:
    return TokenRefused("there is no grant for this doc source", grant_generation=mailbox.grant_generation)

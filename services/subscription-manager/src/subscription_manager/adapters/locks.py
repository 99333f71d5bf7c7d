"""The locks over all instances: session advisory locks, each on a connection of its own."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from pydantic import SecretStr

from mailroom_common.events import Provider
from mailroom_common.locks import SessionLock, hold_session_lock
from mailroom_common.tokens.store import TokenStore

_WAIT_S = 5  # who has it is doing the same work, or it is free within a lease


class PgLocks:
    def __init__(self, database_url: SecretStr, tokens: TokenStore) -> None:
        self._url = database_url
        self._tokens = tokens

    @asynccontextmanager
    async def creator(self, doc_source_id: str) -> AsyncIterator[SessionLock]:
        async with hold_session_lock(
            self._url, "creator", doc_source_id, application_name="creator-lock", wait_s=_WAIT_S
        ) as held:
            yield held

    def account(self, provider: Provider, account_key: str) -> AbstractAsyncContextManager[SessionLock]:
        return self._tokens.hold_account_lock(provider, account_key)

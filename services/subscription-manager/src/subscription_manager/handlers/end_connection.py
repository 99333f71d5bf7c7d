"""End a deleted doc source's side at the provider: its subscription, and what belongs to the account when it is the
account's last doc source."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from mailroom_common.errors import ActionRequired, MailroomError, Retryable
from mailroom_common.events import Access
from mailroom_common.logs import get_logger
from mailroom_common.providers.ports import Consent
from mailroom_common.tokens.sealing import CannotUnseal
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, ConnectionState, build_user_key
from subscription_manager.ports import ConnectionLocks, ConnectionStore, GrantStore, SubscriptionMaintainer

log = get_logger()


class EndConnection:
    """The caller holds the doc source's lock: no subscription is being created meanwhile."""

    def __init__(
        self,
        connections: ConnectionStore,
        locks: ConnectionLocks,
        maintainers: Mapping[str, SubscriptionMaintainer],
        consents: Mapping[str, Consent],
        grants: GrantStore,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._locks = locks
        self._maintainers = maintainers
        self._consents = consents
        self._grants = grants
        self._clock = clock

    async def end_connection(self, connection: Connection) -> None:
        """
        Raises:
            Retryable: it goes on later; the doc source stays `deleting`, so that the gateway knows its late pushes.
        """
        if connection.provider_user_id is None:
            await self._end_never_activated(connection)
            return
        # Connecting takes the account's lock too: nobody joins the account between our look at its doc sources and the
        # end of the shared subscription or the revocation.
        async with self._locks.lock_account(connection.provider, connection.account_key):
            is_last = not await self._connections.list_others_of_account(connection)
            try:
                await self._end_subscription(connection, is_last_of_account=is_last)
                await self._revoke_grant(connection, is_last_of_account=is_last)
            except (ActionRequired, Retryable, CannotUnseal) as error:
                if await self._schedule_check_at_expiry(connection, error):
                    return
            # Last: until here a repeat needs the grant to go on where a crash left off.
            await self._grants.forget_grant(connection.id)
            await self._record_end(connection)

    async def _end_never_activated(self, connection: Connection) -> None:
        """It never was active: there is nothing but the grant that a consent left, and its user is all that is known
        of the account. Connecting takes the lock of the user as well."""
        try:
            grant = await self._grants.read_grant(connection.id)
        except CannotUnseal as error:
            # Its sealing key is retired: nothing can be revoked with it, and the delete must not wait for ever.
            log.warning("connection_ended_without_provider", doc_source_id=connection.id, reason=str(error))
            await self._grants.forget_grant(connection.id)
            grant = None
        if grant is not None:
            async with self._locks.lock_account(connection.provider, build_user_key(grant.provider_user_id)):
                with_user = replace(connection, provider_user_id=grant.provider_user_id)
                is_last = not await self._connections.list_others_of_account(with_user)
                await self._revoke_grant(connection, is_last_of_account=is_last)
                await self._grants.forget_grant(connection.id)
        await self._record_end(connection)

    async def _end_subscription(self, connection: Connection, *, is_last_of_account: bool) -> None:
        maintainer = self._maintainers.get(connection.provider)
        if maintainer is None:
            return  # polled, or no longer set up: nobody can be told, and what there was expires
        if is_last_of_account or not maintainer.is_shared:
            await maintainer.end_subscription(connection)

    async def _revoke_grant(self, connection: Connection, *, is_last_of_account: bool) -> None:
        consent = self._consents.get(connection.provider)
        if consent is None or connection.access is Access.APPLICATION:
            return
        # It would end the grants of the account's other doc sources too.
        if consent.traits.revocation_ends_account and not is_last_of_account:
            return
        grant = await self._grants.read_grant(connection.id)
        if grant is not None and grant.tokens.refresh_token is not None:
            await consent.revoke_grant(grant.tokens.refresh_token)

    async def _schedule_check_at_expiry(self, connection: Connection, error: MailroomError) -> bool:
        """True while the subscription may still live: the next check comes at its end. A provider that refuses us is
        not asked again, nor is one whose grant we cannot read: the subscription expires by itself."""
        current = connection.subscription
        if current is None or current.expires_at <= self._clock():
            # The provider refuses us or the grant cannot be read, and the subscription has expired: nothing is left.
            log.warning("connection_ended_without_provider", doc_source_id=connection.id, reason=str(error))
            return False
        if isinstance(error, Retryable):
            raise error
        async with self._connections.lock_connection(connection.id) as locked:
            if locked is not None:
                await locked.save_connection(transitions.schedule_check(locked.connection, current.expires_at))
        return True

    async def _record_end(self, connection: Connection) -> None:
        now = self._clock()
        async with self._connections.lock_connection(connection.id) as locked:
            if locked is not None and locked.connection.state is ConnectionState.DELETING:
                ended = transitions.record_provider_end(locked.connection, now)
                # sync-engine may have said `forgotten` before: whichever comes last writes the tombstone.
                await locked.save_connection(transitions.erase_to_tombstone_if_finished(ended, now))
        log.info("provider_access_ended", doc_source_id=connection.id)

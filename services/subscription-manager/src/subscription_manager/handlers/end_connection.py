"""End a deleted doc source's side at the provider: its subscription, and what belongs to the account when it is the
account's last doc source."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from mailroom_common.errors import ActionRequired, MailroomError, Retryable
from mailroom_common.events import Access, Provider
from mailroom_common.logs import get_logger
from mailroom_common.providers.ports import Consent, PushSubscriptions
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, State, user_key
from subscription_manager.ports import Connections, Grants, Locks

log = get_logger()


class EndConnection:
    """The caller holds the creator's lock: nothing is being created meanwhile."""

    def __init__(
        self,
        connections: Connections,
        locks: Locks,
        mail: Mapping[str, PushSubscriptions],
        connect: Mapping[str, Consent],
        grants: Grants,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._locks = locks
        self._mail = mail
        self._connect = connect
        self._grants = grants
        self._clock = clock

    async def end(self, connection: Connection) -> None:
        """
        Raises:
            Retryable: it goes on later; the doc source stays `deleting`, so that its late pushes are known.
        """
        if connection.provider_user_id is None:
            await self._end_unfinished(connection)
            return
        # Connecting takes this lock too: nobody comes to the account between our look and the stop or revoke.
        async with self._locks.account(connection.provider, connection.account_key()):
            is_last = not await self._connections.others_of_account(connection)
            try:
                await self._end_subscriptions(connection, is_last)
                if is_last:
                    await self._revoke(connection)
            except (ActionRequired, Retryable) as error:
                if await self._wait_for_expiry(connection, error):
                    return
            await self._grants.forget(connection.id)
            await self._finish(connection)

    async def _end_unfinished(self, connection: Connection) -> None:
        """It never was active: there is nothing but the grant that a consent left, and its user is all that is known
        of the account. Connecting takes the lock of the user as well."""
        grant = await self._grants.read(connection.id)
        if grant is not None:
            async with self._locks.account(connection.provider, user_key(grant.account_id)):
                if not await self._connections.others_of_account(
                    replace(connection, provider_user_id=grant.account_id)
                ):
                    await self._revoke(connection)
                await self._grants.forget(connection.id)
        await self._finish(connection)

    async def _end_subscriptions(self, connection: Connection, is_last: bool) -> None:
        mail = self._mail.get(connection.provider)
        if mail is None:
            return  # no longer set up: nobody can be told, and what there was expires
        mailbox = connection.mailbox()
        current = connection.subscription
        if connection.provider is Provider.GMAIL:
            if is_last and current is not None:
                await mail.end_subscription(mailbox, current.subscription_id)
            return
        if current is not None:
            await mail.end_subscription(mailbox, current.subscription_id)
        for found in await mail.list_subscriptions(mailbox):
            if found.doc_source_id == connection.id:
                await mail.end_subscription(mailbox, found.subscription_id)

    async def _revoke(self, connection: Connection) -> None:
        """At Google this ends every grant of the account with us, so only its last doc source may do it."""
        connect = self._connect.get(connection.provider)
        if connect is None or connection.access is Access.APPLICATION:
            return
        grant = await self._grants.read(connection.id)
        if grant is not None and grant.tokens.refresh_token is not None:
            await connect.revoke_grant(grant.tokens.refresh_token)

    async def _wait_for_expiry(self, connection: Connection, error: MailroomError) -> bool:
        """True while the subscription may still live. Who lets nobody in is not asked again; it expires by itself."""
        current = connection.subscription
        if current is None or current.expires_at <= self._clock():
            log.warning("ended_without_provider", doc_source_id=connection.id, reason=str(error))
            return False
        if isinstance(error, Retryable):
            raise error
        async with self._connections.change(connection.id) as change:
            if change is not None:
                await change.save(transitions.look_again(change.connection, current.expires_at))
        return True

    async def _finish(self, connection: Connection) -> None:
        now = self._clock()
        async with self._connections.change(connection.id) as change:
            if change is not None and change.connection.state is State.DELETING:
                await change.save(transitions.gone_if_finished(transitions.ended(change.connection, now), now))
        log.info("doc_source_ended_at_provider", doc_source_id=connection.id)

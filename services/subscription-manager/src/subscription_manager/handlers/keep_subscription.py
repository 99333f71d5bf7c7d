"""Give a doc source the subscription it needs: create, renew, or end it, one at a time over all instances.

The order of a creation is what makes a push never meet a stranger: strays of ours removed → hash of the new client
state published and acknowledged → subscription created → its id stored with another sync request.
"""

import random
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256

from mailroom_common.errors import (
    AccessDenied,
    ActionRequired,
    ItemGone,
    MailboxGone,
    MailroomError,
    Rejected,
    Retryable,
    TokenRefused,
    Unavailable,
)
from mailroom_common.events import Provider, SyncReason
from mailroom_common.logs import get_logger
from mailroom_common.metrics import SUBSCRIPTION_STEPS
from mailroom_common.providers.ports import PushSubscriptions
from mailroom_common.providers.types import Subscription, SubscriptionRequest
from subscription_manager.domain import transitions
from subscription_manager.domain.attention import ASKED_LIFE, OurURLs, Step, look_again_at, next_step, renew_at
from subscription_manager.domain.connection import Connection, CurrentSubscription, State, Status, SubscriptionStatus
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.ports import AnnouncesNow, Connections, Held, Locks

log = get_logger()

# Somebody has to act at the provider; in case they did without telling us, it is tried again now and then.
_AFTER_REFUSAL = timedelta(hours=6)
# An account's watch that has so long to live was repeated within the last hours, and serves this doc source too. Its
# expiry says so and not when its row was touched: doc sources that take it over from each other do not prolong it.
_SHARED_LEFT = ASKED_LIFE[Provider.GMAIL] - timedelta(hours=20)


class KeepSubscription:
    def __init__(
        self,
        connections: Connections,
        locks: Locks,
        mail: Mapping[str, PushSubscriptions],
        announcer: AnnouncesNow,
        end: EndConnection,
        urls: OurURLs,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._locks = locks
        self._mail = mail
        self._announcer = announcer
        self._end = end
        self._urls = urls
        self._clock = clock

    async def keep(self, doc_source_id: str) -> None:
        """Do what is due now. What fails is remembered in the row, with the time of the next attempt."""
        async with self._locks.creator(doc_source_id) as held:
            # Read under the lock: whoever held it before may have done all there was to do.
            connection = await self._connections.find(doc_source_id)
            if connection is None:
                return
            step = next_step(connection, self._urls, self._clock())
            outcome = "done"
            try:
                await self._take(step, connection, held)
            except (Retryable, Rejected, ActionRequired) as error:
                outcome = "people" if isinstance(error, ActionRequired) else "later"
                await self._remember(connection, step, error)
            if step is not Step.NOTHING:
                SUBSCRIPTION_STEPS.labels(connection.provider, step.name.lower(), outcome).inc()

    async def _take(self, step: Step, connection: Connection, held: Held) -> None:
        if step is Step.CREATE:
            await self._create(connection, held)
        elif step is Step.RENEW:
            await self._renew(connection, held)
        elif step is Step.END:
            await self._end.end(connection)
        else:
            await self._leave(connection)

    async def _create(self, connection: Connection, held: Held) -> None:
        # The account's lock: another doc source of the same mailbox that is between its creation and its storing
        # would have its new subscription taken for a stray.
        async with self._locks.account(connection.provider, connection.account_key()):
            if connection.provider is Provider.GMAIL:
                await self._store(connection, await self._watch(connection, held), None)
            else:
                await self._subscribe(connection, held)

    async def _subscribe(self, connection: Connection, held: Held) -> None:
        mail = self._mail_of(connection)
        await self._remove_strays(connection, mail)
        client_state = f"{connection.id}:{secrets.token_urlsafe(48)}"
        digest = sha256(client_state.encode()).hexdigest()
        async with self._connections.change(connection.id) as change:
            if change is None or change.connection.state is State.DELETING:
                return
            announced = await change.save(transitions.announced(change.connection, digest, self._clock()))
        await self._announcer.announce(announced)
        held.require_held()
        made = await mail.create_subscription(
            connection.mailbox(), self._request(connection, client_state=client_state)
        )
        if not await self._store(connection, self._with_urls(made), digest):
            await mail.end_subscription(connection.mailbox(), made.subscription_id)

    async def _watch(self, connection: Connection, held: Held) -> Subscription:
        """A watch belongs to the account: who comes second shares the first one's. Repeating it renews it."""
        shared = await self._shared_watch(connection)
        if shared is not None:
            return shared
        held.require_held()
        return await self._mail_of(connection).create_subscription(
            connection.mailbox(),
            self._request(connection, client_state=""),  # Pub/Sub has a token of its own
        )

    async def _shared_watch(self, connection: Connection) -> Subscription | None:
        others = await self._connections.others_of_account(connection)
        watches = [other.subscription for other in others if other.subscription is not None]
        newest = max(watches, key=lambda watch: watch.expires_at, default=None)
        if newest is None or newest.expires_at < self._clock() + _SHARED_LEFT:
            return None
        return Subscription(newest.subscription_id, newest.resource, newest.expires_at)

    async def _store(self, connection: Connection, made: Subscription, digest: str | None) -> bool:
        """The new subscription, unless another took this one's place meanwhile (a holder that had lost its lock)."""
        now = self._clock()
        async with self._connections.change(connection.id) as change:
            if change is None or not _is_still(change.connection, connection, digest):
                log.warning("subscription_came_too_late", doc_source_id=connection.id)
                return False
            reason = SyncReason.CONNECT if connection.subscription is None else SyncReason.LIFECYCLE
            deleting = change.connection.state is State.DELETING  # the end of it waits for our lock
            subscribed = transitions.subscribed(
                change.connection,
                made,
                sha256=digest,
                now=now,
                renew_at=now if deleting else self._renew_at(connection, made.expires_at),
            )
            await change.save(subscribed, ask=None if deleting else reason)
        log.info("subscription_created", doc_source_id=connection.id, expires_at=made.expires_at.isoformat())
        return True

    async def _remove_strays(self, connection: Connection, mail: PushSubscriptions) -> None:
        """Ours at this mailbox that nobody needs: of attempts whose answer was lost, and the one to be replaced."""
        mailbox = connection.mailbox()
        listed = await mail.list_subscriptions(mailbox)
        unnamed = [found.subscription_id for found in listed if found.doc_source_id is None]
        known = await self._connections.known_subscriptions(unnamed)
        current = None if connection.subscription is None else connection.subscription.subscription_id
        for found in listed:
            if _is_stray(found, connection.id, current, known, self._urls):
                await mail.end_subscription(mailbox, found.subscription_id)
                log.info(
                    "stray_subscription_removed", doc_source_id=connection.id, subscription_id=found.subscription_id
                )

    async def _renew(self, connection: Connection, held: Held) -> None:
        current = _current(connection)
        if connection.provider is Provider.GMAIL:
            async with self._locks.account(connection.provider, connection.account_key()):
                watch = await self._watch(connection, held)
            await self._store_renewed(connection, watch.expires_at)
            return
        held.require_held()
        try:
            renewed = await self._mail_of(connection).renew_subscription(
                connection.mailbox(),
                current.subscription_id,
                self._clock() + ASKED_LIFE[connection.provider],
            )
        except ItemGone:
            log.warning("subscription_gone", doc_source_id=connection.id, subscription_id=current.subscription_id)
            await self._create(connection, held)
        else:
            await self._store_renewed(connection, renewed.expires_at)

    async def _store_renewed(self, connection: Connection, expires_at: datetime) -> None:
        now = self._clock()
        async with self._connections.change(connection.id) as change:
            if change is None or _id_of(change.connection) != _id_of(connection) or _is_removed(change.connection):
                return  # told meanwhile that it is gone after all: it is due again for that
            deleting = change.connection.state is State.DELETING  # the end of it waits for our lock
            at = now if deleting else self._renew_at(connection, expires_at)
            await change.save(transitions.renewed(change.connection, expires_at, now=now, renew_at=at))
        log.info("subscription_renewed", doc_source_id=connection.id, expires_at=expires_at.isoformat())

    async def _leave(self, connection: Connection) -> None:
        now = self._clock()
        async with self._connections.change(connection.id) as change:
            if change is None:
                return
            if next_step(change.connection, self._urls, now) is Step.NOTHING:
                at = look_again_at(change.connection, random.random())  # noqa: S311  # jitter
            else:
                at = now  # deleted, removed or consented to since we looked
            await change.save(transitions.look_again(change.connection, at))

    async def _remember(self, connection: Connection, step: Step, error: MailroomError) -> None:
        now = self._clock()
        log.warning(
            "subscription_step_failed",
            doc_source_id=connection.id,
            step=step.name.lower(),
            error=type(error).__name__,
            reason=str(error),
        )
        async with self._connections.change(connection.id) as change:
            if change is None:
                return
            if change.connection.state is State.DELETING and step is not Step.END:
                # Deleted in the middle of the step: its end waits for our lock, and not for what failed here.
                await change.save(transitions.look_again(change.connection, now))
                return
            if isinstance(error, ActionRequired):
                await change.save(_refused(change.connection, error, now, begun_with=connection.grant_generation))
                return
            after_s = error.retry_after_s if isinstance(error, Retryable) else None
            again_in = None if after_s is None else timedelta(seconds=after_s)
            said = f"{type(error).__name__}: {error}"
            await change.save(transitions.failed_for_now(change.connection, said, now=now, again_in=again_in))

    def _mail_of(self, connection: Connection) -> PushSubscriptions:
        mail = self._mail.get(connection.provider)
        if mail is None:
            raise Unavailable(f"{connection.provider} is not set up: its client id and secret are not set")
        return mail

    def _request(self, connection: Connection, *, client_state: str) -> SubscriptionRequest:
        return SubscriptionRequest(
            client_state=client_state,
            notification_url=self._urls.notification,
            lifecycle_url=self._urls.lifecycle,
            expires_at=self._clock() + ASKED_LIFE[connection.provider],
        )

    def _with_urls(self, made: Subscription) -> Subscription:
        # A provider that leaves them out has taken what was asked for.
        return Subscription(
            made.subscription_id,
            made.resource,
            made.expires_at,
            notification_url=made.notification_url or self._urls.notification,
            lifecycle_url=made.lifecycle_url or self._urls.lifecycle,
        )

    def _renew_at(self, connection: Connection, expires_at: datetime) -> datetime:
        return renew_at(connection.provider, self._clock(), expires_at, random.random())  # noqa: S311  # jitter


def _is_stray(
    found: Subscription, doc_source_id: str, current: str | None, known: frozenset[str], urls: OurURLs
) -> bool:
    if found.subscription_id == current or found.doc_source_id == doc_source_id:
        return True
    # Without a name it may be another doc source's or another installation's: only what calls us and nobody knows.
    return (
        found.doc_source_id is None
        and found.subscription_id not in known
        and found.notification_url == urls.notification
    )


def _is_still(now_stored: Connection, begun_with: Connection, digest: str | None) -> bool:
    """Compare-and-swap: the subscription is the one we set out to replace, and our hash is still announced."""
    if now_stored.state is State.GONE or _id_of(now_stored) != _id_of(begun_with):
        return False
    return digest is None or any(known.sha256 == digest for known in now_stored.client_states)


def _refused(connection: Connection, error: ActionRequired, now: datetime, *, begun_with: int) -> Connection:
    """`begun_with` is the generation of the grant when the step began."""
    said = f"{type(error).__name__}: {error}"
    again_at = now + _AFTER_REFUSAL
    asked = error.grant_generation if isinstance(error, TokenRefused) else begun_with
    if asked < connection.grant_generation:
        # An older grant's refusal: the newer one has not been asked yet.
        return transitions.failed_for_now(connection, said, now=now, again_in=None)
    if isinstance(error, TokenRefused):
        return transitions.needs_people(
            connection, Status.TOKEN_REFRESH_FAILED, "token_refused", said, again_at=again_at
        )
    reason = "mailbox_gone" if isinstance(error, MailboxGone) else "access_denied"
    return transitions.needs_people(connection, Status.PROVIDER_ERROR, reason, said, again_at=again_at)


def _current(connection: Connection) -> CurrentSubscription:
    if connection.subscription is None:
        raise AccessDenied(f"doc source {connection.id} has no subscription to renew")
    return connection.subscription


def _is_removed(connection: Connection) -> bool:
    return connection.subscription is not None and connection.subscription.status is SubscriptionStatus.REMOVED


def _id_of(connection: Connection) -> str | None:
    return None if connection.subscription is None else connection.subscription.subscription_id

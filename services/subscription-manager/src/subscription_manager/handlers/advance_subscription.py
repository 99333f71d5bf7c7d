"""Take the next step of a connection's subscription: create, renew or end it, one step at a time over all instances."""

import random
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from mailroom_common.errors import (
    ActionRequired,
    MailboxGone,
    MailroomError,
    Rejected,
    Retryable,
    Throttled,
    TokenRefused,
    Unavailable,
)
from mailroom_common.logs import get_logger
from mailroom_common.metrics import SUBSCRIPTION_STEPS
from mailroom_common.providers.ports import ProviderTraits, PushTraits
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, ConnectionState, ConnectionStatus, TroubleReason
from subscription_manager.domain.subscription_schedule import (
    SubscriptionStep,
    WebhookURLs,
    build_webhook_urls,
    choose_step,
    compute_next_check,
)
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.ports import ConnectionLocks, ConnectionStore, LockHandle, SubscriptionMaintainer

log = get_logger()

# Somebody has to act at the provider; in case they did so without telling us, it is tried again now and then.
_ACTION_REQUIRED_PAUSE = timedelta(hours=6)
# Mail is late meanwhile, and a right on a topic is given without anybody's consent that we would hear of.
_SUBSCRIPTION_REFUSED_PAUSE = timedelta(hours=1)


class AdvanceSubscription:
    """A provider that can only be polled has no maintainer, nor has one whose settings are missing."""

    def __init__(
        self,
        connections: ConnectionStore,
        locks: ConnectionLocks,
        traits: Mapping[str, ProviderTraits],
        maintainers: Mapping[str, SubscriptionMaintainer],
        end: EndConnection,
        webhook_base_url: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._connections = connections
        self._locks = locks
        self._traits = traits
        self._maintainers = maintainers
        self._end = end
        self._webhook_base_url = webhook_base_url
        self._clock = clock

    async def advance_subscription(self, doc_source_id: str) -> None:
        """Take the step that is due now. A failure is recorded in the row, with the time of the next attempt."""
        async with self._locks.lock_doc_source(doc_source_id) as lock:
            # Read under the lock: whoever held it before may have taken the step.
            connection = await self._connections.find_connection(doc_source_id)
            if connection is None:
                return
            step = self._choose_step(connection)
            outcome = "done"
            try:
                await self._take_step(step, connection, lock)
            except (Retryable, Rejected, ActionRequired) as error:
                outcome = "action_required" if isinstance(error, ActionRequired) else "retry_later"
                await self._record_failure(connection, step, error)
            if step is not SubscriptionStep.NOTHING:
                SUBSCRIPTION_STEPS.labels(connection.provider, step.name.lower(), outcome).inc()

    async def _take_step(self, step: SubscriptionStep, connection: Connection, lock: LockHandle) -> None:
        if step is SubscriptionStep.CREATE:
            await self._require_maintainer(connection).create_subscription(connection, lock)
        elif step is SubscriptionStep.RENEW:
            await self._require_maintainer(connection).renew_subscription(connection, lock)
        elif step is SubscriptionStep.END:
            await self._end.end_connection(connection)
        else:
            await self._schedule_next_check(connection)

    async def _schedule_next_check(self, connection: Connection) -> None:
        now = self._clock()
        async with self._connections.lock_connection(connection.id) as locked:
            if locked is None:
                return
            # Chosen anew under the row's lock: a delete, a removal or a consent that came since the first look has set
            # the check to now, and that must not be overwritten.
            if self._choose_step(locked.connection) is SubscriptionStep.NOTHING:
                jitter = random.random()  # noqa: S311  # no secret
                next_check_at = compute_next_check(locked.connection, self._find_push(connection), jitter)
                after = transitions.record_nothing_due(locked.connection, next_check_at)
            else:
                after = transitions.schedule_check(locked.connection, now)
            await locked.save_connection(after)

    async def _record_failure(self, connection: Connection, step: SubscriptionStep, error: MailroomError) -> None:
        now = self._clock()
        # The step is tried again at `next_check_at`; mail still arrives with the backstop meanwhile.
        log.warning(
            "subscription_step_failed",
            doc_source_id=connection.id,
            step=step.name.lower(),
            error=type(error).__name__,
            reason=str(error),
        )
        async with self._connections.lock_connection(connection.id) as locked:
            if locked is None:
                return
            if locked.connection.state is ConnectionState.DELETING and step is not SubscriptionStep.END:
                # Deleted in the middle of the step: its end waits for our lock, and not for what failed here.
                after = transitions.schedule_check(locked.connection, now)
            elif isinstance(error, ActionRequired):
                after = _apply_refusal(locked.connection, error, now, began_with=connection.grant_generation)
            else:
                retry_after_s = error.retry_after_s if isinstance(error, Retryable) else None
                after = transitions.schedule_retry(
                    locked.connection,
                    _describe_error(error),
                    now=now,
                    retry_after=None if retry_after_s is None else timedelta(seconds=retry_after_s),
                    is_throttled=isinstance(error, Throttled),
                    is_refused=isinstance(error, Rejected),
                )
            await locked.save_connection(after)

    def _choose_step(self, connection: Connection) -> SubscriptionStep:
        return choose_step(connection, self._find_push(connection), self._build_urls(connection), self._clock())

    def _find_push(self, connection: Connection) -> PushTraits | None:
        """None for a polled provider, and for one whose package this process does not have."""
        traits = self._traits.get(connection.provider)
        return None if traits is None else traits.push

    def _build_urls(self, connection: Connection) -> WebhookURLs:
        return build_webhook_urls(self._webhook_base_url, connection.provider)

    def _require_maintainer(self, connection: Connection) -> SubscriptionMaintainer:
        maintainer = self._maintainers.get(connection.provider)
        if maintainer is None:
            raise Unavailable(f"{connection.provider} is not set up: settings of this provider are missing")
        return maintainer


def _apply_refusal(connection: Connection, error: ActionRequired, now: datetime, *, began_with: int) -> Connection:
    """`began_with` is the generation of the grant when the step began."""
    refused_generation = error.grant_generation if isinstance(error, TokenRefused) else began_with
    if refused_generation < connection.grant_generation:
        # A late refusal of an older grant does not condemn the newer one, which has not been tried yet.
        return transitions.schedule_retry(connection, _describe_error(error), now=now)
    if not isinstance(error, TokenRefused | MailboxGone):
        return transitions.record_refused_subscription(
            connection, _describe_error(error), now=now, next_check_at=now + _SUBSCRIPTION_REFUSED_PAUSE
        )
    status, reason = ConnectionStatus.PROVIDER_ERROR, TroubleReason.MAILBOX_GONE
    if isinstance(error, TokenRefused):
        status, reason = ConnectionStatus.TOKEN_REFRESH_FAILED, TroubleReason.TOKEN_REFUSED
    return transitions.record_refused_mailbox(
        connection, status, reason, _describe_error(error), now=now, next_check_at=now + _ACTION_REQUIRED_PAUSE
    )


def _describe_error(error: MailroomError) -> str:
    return f"{type(error).__name__}: {error}"

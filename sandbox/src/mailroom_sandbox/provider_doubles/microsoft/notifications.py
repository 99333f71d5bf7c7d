"""What Graph pushes: change notifications and lifecycle events."""

import sqlite3
from collections.abc import Sequence

import httpx
import orjson

from mailroom_sandbox.provider_doubles.fault_switchboard import Faults
from mailroom_sandbox.provider_doubles.microsoft.directory import Directory
from mailroom_sandbox.provider_doubles.provider_state import Clock
from mailroom_sandbox.provider_doubles.push_dispatcher import PendingPush, PushDispatcher
from mailroom_sandbox.provider_doubles.settings import ProvidersSettings
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import from_ms, to_ms

CHANNEL = "graph"


class GraphChannel:
    """Three seconds for the first try, ten for each later one; growing pauses; given up after four hours."""

    name = CHANNEL
    together = 20
    at_once = 8
    gives_up_after_s = 4 * 3600.0

    def __init__(self, http: httpx.AsyncClient, settings: ProvidersSettings) -> None:
        self._http = http
        self._settings = settings

    async def post_pushes(self, url: str, pending_pushes: Sequence[PendingPush]) -> str:
        first = any(pending_push.attempts == 0 for pending_push in pending_pushes)
        timeout_s = (
            self._settings.notification_first_timeout_s if first else self._settings.notification_retry_timeout_s
        )
        body = orjson.dumps({"value": [pending_push.body for pending_push in pending_pushes]})
        try:
            answer = await self._http.post(
                url, content=body, headers={"content-type": "application/json"}, timeout=timeout_s
            )
        except httpx.HTTPError as error:
            return type(error).__name__
        return "accepted" if answer.is_success else f"status {answer.status_code}"

    def pause_s(self, attempts: int) -> float:
        return min(600.0, self._settings.notification_retry_base_s * 2.0 ** min(attempts - 1, 20))


class GraphNotifications:
    def __init__(
        self, store: Store, dispatcher: PushDispatcher, faults: Faults, directory: Directory, now: Clock
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._faults = faults
        self._directory = directory
        self._now = now

    def announce_change(self, change_type: str, message: sqlite3.Row, folder_id: str) -> None:
        for subscription in self._list_live_subscriptions(message["user_id"]):
            if subscription["folder_id"] in (None, folder_id):
                self._enqueue_push(subscription, change_type, message)

    def announce_move(self, before: sqlite3.Row, after: sqlite3.Row) -> None:
        """For a folder, a message came or went. For the mailbox it changed, or is another one where ids change."""
        for subscription in self._list_live_subscriptions(before["user_id"]):
            watched = subscription["folder_id"]
            if watched is None and subscription["immutable_ids"]:
                self._enqueue_push(subscription, "updated", after)
                continue
            if watched in (None, before["folder_id"]):
                self._enqueue_push(subscription, "deleted", before)
            if watched in (None, after["folder_id"]):
                self._enqueue_push(subscription, "created", after)

    def announce_newest(self, subscription: sqlite3.Row) -> None:
        """Of the messages that the subscription is about."""
        newest = self._store.select_row(
            "select * from graph_message where user_id = ? and folder_id = coalesce(?, folder_id)"
            " order by pk desc limit 1",
            subscription["user_id"],
            subscription["folder_id"],
        )
        if newest is not None:
            self._enqueue_push(subscription, subscription["change_type"].split(",")[0], newest)

    def send_lifecycle_event(self, subscription_id: str, event: str) -> bool:
        """Sends one lifecycle event; a removed subscription is gone before anybody is told."""
        row = self._store.select_row("select * from subscription where subscription_id = ?", subscription_id)
        if row is None:
            return False
        if event == "subscriptionRemoved":
            self._store.execute_sql("delete from subscription where subscription_id = ?", subscription_id)
        if row["lifecycle_url"] is None:
            return False  # those without the address never hear of it
        self._dispatcher.enqueue_push(
            CHANNEL, row["lifecycle_url"], row["user_id"], {**self._build_envelope(row), "lifecycleEvent": event}
        )
        return True

    def _list_live_subscriptions(self, user_id: str) -> list[sqlite3.Row]:
        return self._store.select_rows(
            "select * from subscription where user_id = ? and expires_ms > ?", user_id, to_ms(self._now())
        )

    def _enqueue_push(self, subscription: sqlite3.Row, change_type: str, message: sqlite3.Row) -> None:
        if change_type not in subscription["change_type"].split(","):
            return
        user = self._directory.find_user(subscription["user_id"])
        message_id = message["immutable_id"] if subscription["immutable_ids"] else message["rest_id"]
        resource = f"Users/{message['user_id']}/Messages/{message_id}"
        item = {
            **self._build_envelope(subscription),
            "changeType": change_type,
            "resource": resource,
            "resourceData": {
                "@odata.type": "#Microsoft.Graph.Message",
                "@odata.id": resource,
                "@odata.etag": f'W/"{message["change_key"]}"',
                "id": message_id,
            },
        }
        for due_in_s in self._faults.plan_posts(user.address if user else None, self._now()):
            self._dispatcher.enqueue_push(
                CHANNEL, subscription["notification_url"], message["user_id"], item, due_in_s=due_in_s
            )

    def _build_envelope(self, subscription: sqlite3.Row) -> dict[str, object]:
        # The offset is written out here, unlike in the subscription itself: that is how they come.
        expires = from_ms(subscription["expires_ms"]).strftime("%Y-%m-%dT%H:%M:%S.%f0+00:00")
        return {
            "subscriptionId": subscription["subscription_id"],
            "subscriptionExpirationDateTime": expires,
            "clientState": subscription["client_state"],
            "tenantId": subscription["tenant_id"],
        }

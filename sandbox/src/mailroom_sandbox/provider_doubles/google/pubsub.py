"""Gmail's watches, and the Pub/Sub subscription that pushes what they announce."""

import base64
import secrets
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import quote, urlsplit

import httpx
import orjson

from mailroom_sandbox.provider_doubles.fault_switchboard import Faults
from mailroom_sandbox.provider_doubles.faults import SubscriptionLimits
from mailroom_sandbox.provider_doubles.google.accounts import GoogleAccount
from mailroom_sandbox.provider_doubles.keys import SigningKey
from mailroom_sandbox.provider_doubles.provider_state import Clock, ProviderState
from mailroom_sandbox.provider_doubles.push_dispatcher import PendingPush, PushDispatcher
from mailroom_sandbox.provider_doubles.settings import ProvidersSettings
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import from_ms, to_ms

CHANNEL = "pubsub"
ISSUER = "https://accounts.google.com"
WATCH_LIFETIME = timedelta(days=7)
_ACKNOWLEDGED = frozenset({102, 200, 201, 202, 204})
_ACK_DEADLINE_S = 10.0
_SIGN_AGAIN_AFTER_S = 300


class PubSubChannel:
    """One message a post; the ack deadline is the time-out; a nack slows down between 100 ms and 60 s."""

    name = CHANNEL
    together = 1
    at_once = 16
    gives_up_after_s = 7 * 24 * 3600.0

    def __init__(self, http: httpx.AsyncClient, settings: ProvidersSettings, key: SigningKey, now: Clock) -> None:
        self._http = http
        self._settings = settings
        self._key = key
        self._now = now
        self._signed = (0, "")

    async def post_pushes(self, url: str, pending_pushes: Sequence[PendingPush]) -> str:
        (pending_push,) = pending_pushes
        headers = {
            "content-type": "application/json",
            "user-agent": "CloudPubSub-Google",
            **self._authorization_header(),
        }
        body = orjson.dumps(pending_push.body)
        if not self._settings.pubsub_wrapped:
            headers |= _build_metadata_headers(pending_push.body)
            message = pending_push.body["message"]
            body = base64.b64decode(str(message["data"])) if isinstance(message, dict) else b""
        try:
            answer = await self._http.post(
                self._with_token(url), content=body, headers=headers, timeout=_ACK_DEADLINE_S
            )
        except httpx.HTTPError as error:
            return type(error).__name__
        return "accepted" if answer.status_code in _ACKNOWLEDGED else f"status {answer.status_code}"

    def pause_s(self, attempts: int) -> float:
        return min(60.0, 0.1 * 2.0 ** min(attempts - 1, 20))

    def _with_token(self, url: str) -> str:
        """The token is part of the push address, added last so that it never lies in the store."""
        token = self._settings.pubsub_token
        if token is None:
            return url
        return f"{url}{'&' if urlsplit(url).query else '?'}token={quote(token.get_secret_value(), safe='')}"

    def _authorization_header(self) -> dict[str, str]:
        """A token serves many pushes, as at Google."""
        account = self._settings.pubsub_service_account
        if account is None:
            return {}
        now = int(self._now().timestamp())
        signed_at, token = self._signed
        if abs(now - signed_at) > _SIGN_AGAIN_AFTER_S:
            token = self._sign_token(account, now)
            self._signed = (now, token)
        return {"authorization": f"Bearer {token}"}

    def _sign_token(self, account: str, now: int) -> str:
        claims: dict[str, object] = {
            "aud": self._settings.pubsub_audience or self._settings.pubsub_push_url or "",
            "azp": "113774264463038321964",
            "email": account,
            "email_verified": True,
            "exp": now + 3600,
            "iat": now,
            "iss": ISSUER,
            "sub": "113774264463038321964",
        }
        return self._key.sign_claims(claims)


def _build_metadata_headers(envelope: dict[str, object]) -> dict[str, str]:
    message = envelope["message"]
    if not isinstance(message, dict):
        return {}
    return {
        "x-goog-pubsub-subscription-name": str(envelope["subscription"]),
        "x-goog-pubsub-message-id": str(message["messageId"]),
        "x-goog-pubsub-publish-time": str(message["publishTime"]),
    }


class Watches:
    """Who is watched, and what a change of a watched mailbox publishes: never more than that something changed."""

    def __init__(
        self, store: Store, dispatcher: PushDispatcher, faults: Faults, settings: ProvidersSettings, now: Clock
    ) -> None:
        self._store = store
        self._dispatcher = dispatcher
        self._faults = faults
        self._settings = settings
        self._now = now

    @classmethod
    def from_state(cls, state: ProviderState) -> "Watches":
        return cls(state.store, state.dispatcher, state.faults, state.settings, state.now)

    def find_topic(self, account: GoogleAccount) -> str | None:
        """The topic of a watch that has not run out."""
        row = self._store.select_row(
            "select topic from watch where user_id = ? and expires_ms > ?", account.user_id, to_ms(self._now())
        )
        return row["topic"] if row else None

    def start_watch(self, account: GoogleAccount, topic: str, labels: frozenset[str], behavior: str) -> int:
        """Returns when it ends, in milliseconds, and publishes one notification at once."""
        limits = self._faults.find_active(SubscriptionLimits, account.address)
        expires_ms = to_ms(self._now() + (timedelta(seconds=limits.granted_s) if limits else WATCH_LIFETIME))
        self._store.execute_sql(
            "insert or replace into watch values (?,?,?,?,?,0)",
            account.user_id,
            topic,
            orjson.dumps(sorted(labels)).decode(),
            behavior,
            expires_ms,
        )
        self._publish_notification(account)
        return expires_ms

    def stop_watch(self, account: GoogleAccount) -> None:
        self._store.execute_sql("delete from watch where user_id = ?", account.user_id)

    def announce_change(self, account: GoogleAccount, labels: frozenset[str]) -> None:
        now_ms = to_ms(self._now())
        watch = self._store.select_row(
            "select * from watch where user_id = ? and expires_ms > ?", account.user_id, now_ms
        )
        if watch is None or not _is_announced(watch["behavior"], frozenset(orjson.loads(watch["labels"])), labels):
            return
        if self._settings.pubsub_drop_above_one_per_second and now_ms - watch["last_event_ms"] < 1000:
            return  # one event a second and user; what is above is dropped, not queued
        self._store.execute_sql("update watch set last_event_ms = ? where user_id = ?", now_ms, account.user_id)
        self._publish_notification(account)

    def _publish_notification(self, account: GoogleAccount) -> None:
        url = self._settings.pubsub_push_url
        if url is None:
            return
        for due_in_s in self._faults.plan_posts(account.address, self._now()):
            self._dispatcher.enqueue_push(
                CHANNEL, url, account.user_id, self._build_envelope(account), due_in_s=due_in_s
            )

    def _build_envelope(self, account: GoogleAccount) -> dict[str, object]:
        # A number here, although the API gives history ids as strings.
        signal = orjson.dumps({"emailAddress": account.address, "historyId": account.history_id})
        message_id = str(10**16 + secrets.randbelow(9 * 10**16))
        published = from_ms(to_ms(self._now())).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        return {
            "message": {
                "data": base64.b64encode(signal).decode(),
                "messageId": message_id,
                "message_id": message_id,
                "publishTime": published,
                "publish_time": published,
            },
            "subscription": self._settings.pubsub_subscription,
        }


def _is_announced(behavior: str, watched: frozenset[str], labels: frozenset[str]) -> bool:
    if not watched:
        return True
    return bool(watched & labels) == (behavior != "exclude")

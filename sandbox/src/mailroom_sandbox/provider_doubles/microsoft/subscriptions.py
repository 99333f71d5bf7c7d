"""Subscriptions: created after a real handshake, limited in time, listed only to those who made them."""

import asyncio
import re
import sqlite3
import uuid
from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import quote, urlsplit

import httpx
import orjson

from mailroom_sandbox.provider_doubles.faults import EarlyAnnouncement, Handshake, SubscriptionLimits, WatchFault
from mailroom_sandbox.provider_doubles.microsoft.access import GraphAuthorizer, Target
from mailroom_sandbox.provider_doubles.microsoft.directory import Directory
from mailroom_sandbox.provider_doubles.microsoft.errors import GraphErrors
from mailroom_sandbox.provider_doubles.microsoft.messages import wants_immutable
from mailroom_sandbox.provider_doubles.microsoft.notifications import GraphNotifications
from mailroom_sandbox.provider_doubles.microsoft.odata import BadQuery, parse_time
from mailroom_sandbox.provider_doubles.provider_state import ProviderState
from mailroom_sandbox.provider_doubles.tokens import Holder
from mailroom_sandbox.provider_doubles.wire import Call, Refused, Reply, from_ms, to_ms

LONGEST = timedelta(minutes=10_070)
SHORTEST = timedelta(minutes=45)
_HANDSHAKE_TIMEOUT_S = 10.0
_RESOURCE = re.compile(
    r"^/?(?:me|users/(?P<user>[^/()]+)|users\('(?P<quoted_user>[^']+)'\))"
    r"(?:/mailfolders(?:/(?P<folder>[^/()]+)|\('(?P<quoted_folder>[^']+)'\)))?/messages/?$",
    re.IGNORECASE,
)
_CHANGE_TYPES = frozenset({"created", "updated", "deleted"})
_TLS = frozenset({"v1_0", "v1_1", "v1_2", "v1_3"})
# Web push members: refused on an ordinary webhook.
_BROWSER_MEMBERS = ("vapidPublicKey", "webPushEncryptionP256dhPublicKey", "webPushEncryptionSecret")


class Subscriptions:
    def __init__(
        self,
        state: ProviderState,
        access: GraphAuthorizer,
        directory: Directory,
        notifications: GraphNotifications,
        errors: GraphErrors,
    ) -> None:
        self._state = state
        self._store = state.store
        self._access = access
        self._directory = directory
        self._notifications = notifications
        self._errors = errors

    async def create_subscription(self, call: Call, holder: Holder) -> Reply:
        fields = self._parse_json(call)
        self._check_members(fields)
        target, folder_id = self._find_resource(holder, str(fields["resource"]))
        address = target.user.address
        if refusal := self._state.faults.use_fault_once(WatchFault, address, lambda fault: fault.mode == "refused"):
            raise self._refuse_subscription(refusal.status)
        expires_ms = self._check_expiry(str(fields["expirationDateTime"]), address)
        change_type = self._change_type(str(fields["changeType"]))
        self._refuse_duplicate(holder, target, str(fields["resource"]), change_type)
        notification_url = self._check_webhook(fields["notificationUrl"])
        lifecycle = fields.get("lifecycleNotificationUrl")
        lifecycle_url = self._check_webhook(lifecycle) if lifecycle is not None else None
        for url in filter(None, (notification_url, lifecycle_url)):
            await self._shake_hands(url, address)
        subscription_id = str(uuid.uuid4())
        self._store.execute_sql(
            "insert into subscription values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            subscription_id,
            holder.client_id,
            target.user.user_id,
            folder_id,
            holder.tenant_id,
            holder.user_id or holder.client_id,
            str(fields["resource"]),
            change_type,
            notification_url,
            lifecycle_url,
            fields.get("clientState"),
            fields.get("latestSupportedTlsVersion") or "v1_2",
            expires_ms,
            int(wants_immutable(call)),
            to_ms(self._state.now()),
        )
        row = self._require_own(holder, subscription_id)
        if early := self._state.faults.use_fault_once(EarlyAnnouncement, address):
            self._notifications.announce_newest(row)
            await asyncio.sleep(early.delay_s)
        return self._build_reply(call, row, 201)

    def list_own(self, call: Call, holder: Holder) -> Reply:
        rows = self._store.select_rows(
            "select * from subscription where app_id = ? and expires_ms > ?"
            " and (creator_id = ? or (? and tenant_id = ?)) order by created_ms, subscription_id",
            holder.client_id,
            to_ms(self._state.now()),
            holder.user_id or holder.client_id,
            int(holder.user_id is None),
            holder.tenant_id,
        )
        context = f"{call.base_url}/v1.0/$metadata#subscriptions"
        return Reply(200, {"@odata.context": context, "value": [_build_subscription_json(row) for row in rows]})

    def get_subscription(self, call: Call, holder: Holder, subscription_id: str) -> Reply:
        return self._build_reply(call, self._require_own(holder, subscription_id), 200)

    async def renew_subscription(self, call: Call, holder: Holder, subscription_id: str) -> Reply:
        row = self._require_own(holder, subscription_id)
        fields = self._parse_json(call)
        expiry, url = fields.get("expirationDateTime"), fields.get("notificationUrl")
        if expiry is None and url is None:
            members = "'expirationDateTime' or 'notificationUrl'"
            text = f"Subscription must contain either the {members} property and its value."
            raise self._errors.refuse_call(400, "ValidationError", text)
        address = self._find_address(row)
        expires_ms = self._check_expiry(str(expiry), address) if expiry is not None else row["expires_ms"]
        notification_url = row["notification_url"]
        if url is not None:
            notification_url = self._check_webhook(url)
            await self._shake_hands(notification_url, address)
        self._store.execute_sql(
            "update subscription set expires_ms = ?, notification_url = ? where subscription_id = ?",
            expires_ms,
            notification_url,
            subscription_id,
        )
        return self._build_reply(call, self._require_own(holder, subscription_id), 200)

    def reauthorize_subscription(self, holder: Holder, subscription_id: str) -> Reply:
        """Proves that the caller still has access; the expiry stays."""
        self._require_own(holder, subscription_id)
        return Reply(204)

    def delete_subscription(self, holder: Holder, subscription_id: str) -> Reply:
        self._require_own(holder, subscription_id)
        self._store.execute_sql("delete from subscription where subscription_id = ?", subscription_id)
        return Reply(204)

    # Rules

    def _parse_json(self, call: Call) -> dict[str, object]:
        try:
            fields = orjson.loads(call.body or b"{}")
        except orjson.JSONDecodeError as error:
            raise self._errors.bad_request("Unable to read JSON request payload.") from error
        if not isinstance(fields, dict):
            raise self._errors.bad_request("Unable to read JSON request payload.")
        return fields

    def _check_members(self, fields: Mapping[str, object]) -> None:
        for member in ("resource", "changeType", "notificationUrl", "expirationDateTime"):
            if not isinstance(fields.get(member), str) or not fields[member]:
                raise self._errors.refuse_call(400, "ValidationError", f"Property '{member}' is required.")
        state = fields.get("clientState")
        if state is not None and (not isinstance(state, str) or len(state) > 128):
            raise self._errors.refuse_call(
                400, "ValidationError", "The clientState must not be longer than 128 characters."
            )
        if any(fields.get(member) is not None for member in _BROWSER_MEMBERS):
            raise self._errors.refuse_call(
                400, "ValidationError", "Web push members are not allowed on this subscription."
            )
        if fields.get("includeResourceData"):
            text = "Resource data is not offered by this sandbox: create the subscription without it."
            raise self._errors.refuse_call(400, "ExtensionError", text)
        if fields.get("latestSupportedTlsVersion") not in (None, *_TLS):
            raise self._errors.refuse_call(400, "ValidationError", "The latestSupportedTlsVersion is not valid.")

    def _find_resource(self, holder: Holder, resource: str) -> tuple[Target, str | None]:
        path, _, query = resource.partition("?")
        found = _RESOURCE.match(path)
        if not found or query:
            reason = "Operation: Create; Exception: [Status Code: BadRequest; Reason: Resource is not supported]"
            raise self._errors.refuse_call(400, "ExtensionError", reason)
        try:
            target = self._access.require_mailbox(holder, found["user"] or found["quoted_user"] or "me")
        except Refused as refused:
            if refused.reply.status != 403:
                raise
            reason = "Operation: Create; Exception: [Status Code: Forbidden; Reason: Access is denied]"
            raise self._errors.refuse_call(403, "ExtensionError", reason) from refused
        key = found["folder"] or found["quoted_folder"]
        if key is None:
            return target, None
        folder = self._directory.folder(target.user.user_id, key)
        if folder is None:
            reason = "Operation: Create; Exception: [Status Code: NotFound; Reason: Not StoredToken]"
            raise self._errors.refuse_call(404, "ExtensionError", reason)
        return target, str(folder["folder_id"])

    def _refuse_subscription(self, status: int) -> Refused:
        if status == 503:
            return Refused(self._errors.unavailable(503))
        reason = "Operation: Create; Exception: [Status Code: Forbidden; Reason: Access is denied]"
        return self._errors.refuse_call(403, "ExtensionError", reason)

    def _find_address(self, subscription: sqlite3.Row) -> str | None:
        user = self._directory.find_user(subscription["user_id"])
        return user.address if user else None

    def _check_expiry(self, text: str, address: str | None) -> int:
        now = self._state.now()
        try:
            expiry_ms = parse_time(text)
        except BadQuery as error:
            raise self._errors.refuse_call(400, "ValidationError", "The expirationDateTime is not valid.") from error
        if expiry_ms > to_ms(now + LONGEST):
            text = f"Subscription expiration can only be {int(LONGEST.total_seconds() // 60)} minutes in the future."
            raise self._errors.refuse_call(400, "ExtensionError", text)
        limits = self._state.faults.find_active(SubscriptionLimits, address)
        if limits is not None:
            return min(expiry_ms, to_ms(now + timedelta(seconds=limits.granted_s)))
        # Anything shorter is raised without a word.
        return max(expiry_ms, to_ms(now + SHORTEST))

    def _change_type(self, text: str) -> str:
        kinds = [kind.strip() for kind in text.lower().split(",")]
        if not set(kinds) <= _CHANGE_TYPES:
            raise self._errors.refuse_call(400, "ValidationError", f"The change type '{text}' is not valid.")
        return ",".join(kinds)

    def _check_webhook(self, url: object) -> str:
        parts = urlsplit(str(url))
        loopback = parts.hostname in ("127.0.0.1", "localhost", "::1")
        allowed = parts.scheme == "https" or (
            parts.scheme == "http" and loopback and self._state.settings.allow_http_webhooks
        )
        if not allowed or not parts.hostname:
            raise self._errors.refuse_call(400, "ValidationError", "Notification URL must be a valid https address.")
        return str(url)

    def _refuse_duplicate(self, holder: Holder, target: Target, resource: str, change_type: str) -> None:
        if not self._state.settings.refuse_duplicate_subscriptions:
            return  # what the service really does for mail: both live, and both deliver
        row = self._store.select_row(
            "select subscription_id from subscription where app_id = ? and user_id = ? and resource = ?"
            " and change_type = ? and expires_ms > ?",
            holder.client_id,
            target.user.user_id,
            resource,
            change_type,
            to_ms(self._state.now()),
        )
        if row:
            text = f"Subscription Id {row['subscription_id']} already exists for the requested combination"
            raise self._errors.refuse_call(409, "ExtensionError", text)

    async def _shake_hands(self, url: str, address: str | None) -> None:
        """The endpoint proves that it is the caller's: it repeats a token, decoded, as plain text, in ten seconds."""
        if fault := self._state.faults.use_fault_once(Handshake, address):
            if fault.mode == "refused":
                raise self._failed_handshake("")
            await asyncio.sleep(fault.delay_s)
        token = f"Validation: Testing client application reachability for subscription Request-Id: {uuid.uuid4()}"
        joint = "&" if urlsplit(url).query else "?"
        try:
            answer = await self._state.http.post(
                f"{url}{joint}validationToken={quote(token, safe='')}",
                headers={"content-type": "text/plain; charset=utf-8"},
                timeout=_HANDSHAKE_TIMEOUT_S,
            )
        except httpx.TimeoutException as error:
            text = "Subscription validation request timed out."
            raise self._errors.refuse_call(400, "ValidationError", text) from error
        except httpx.HTTPError as error:
            raise self._failed_handshake("") from error
        is_plain = answer.headers.get("content-type", "").lower().startswith("text/plain")
        if answer.status_code != 200 or not is_plain or answer.text != token:
            status = "" if answer.status_code == 200 else f" HTTP status code is '{answer.reason_phrase}'."
            raise self._failed_handshake(status)

    def _failed_handshake(self, status: str) -> Refused:
        text = (
            "Subscription validation request failed. "
            f"Notification endpoint must respond with 200 OK to validation request.{status}"
        )
        return self._errors.refuse_call(400, "ValidationError", text)

    def _require_own(self, holder: Holder, subscription_id: str) -> sqlite3.Row:
        row = self._store.select_row(
            "select * from subscription where subscription_id = ? and app_id = ? and expires_ms > ?",
            subscription_id.lower(),
            holder.client_id,
            to_ms(self._state.now()),
        )
        mine = row is not None and (
            row["creator_id"] == holder.user_id if holder.user_id else row["tenant_id"] == holder.tenant_id
        )
        if row is None or not mine:
            raise self._errors.no_subscription()
        return row

    def _build_reply(self, call: Call, row: sqlite3.Row, status: int) -> Reply:
        context = f"{call.base_url}/v1.0/$metadata#subscriptions/$entity"
        return Reply(status, {"@odata.context": context, **_build_subscription_json(row)})


def format_expiry(expires_ms: int) -> str:
    """Seven digits of a second, as the service writes them."""
    return from_ms(expires_ms).strftime("%Y-%m-%dT%H:%M:%S.%f") + "0Z"


def _build_subscription_json(row: sqlite3.Row) -> dict[str, object]:
    return {
        "id": row["subscription_id"],
        "resource": row["resource"],
        "applicationId": row["app_id"],
        "changeType": row["change_type"],
        "clientState": row["client_state"],
        "notificationUrl": row["notification_url"],
        "notificationQueryOptions": None,
        "lifecycleNotificationUrl": row["lifecycle_url"],
        "expirationDateTime": format_expiry(row["expires_ms"]),
        "creatorId": row["creator_id"],
        "includeResourceData": None,
        "latestSupportedTlsVersion": row["tls_version"],
        "encryptionCertificate": None,
        "encryptionCertificateId": None,
        "notificationUrlAppId": None,
    }

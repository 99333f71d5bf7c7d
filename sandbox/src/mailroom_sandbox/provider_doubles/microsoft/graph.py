"""Graph v1.0: finds the operation for a path, checks who asks, and answers; also for the calls inside a batch."""

import asyncio
import base64
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

import orjson

from mailroom_sandbox.provider_doubles.calls import CallFacts, CallGate
from mailroom_sandbox.provider_doubles.faults import ExactQuotas
from mailroom_sandbox.provider_doubles.item_faults import insert_odd_bytes
from mailroom_sandbox.provider_doubles.microsoft.access import GraphAuthorizer, Target
from mailroom_sandbox.provider_doubles.microsoft.delta import Delta
from mailroom_sandbox.provider_doubles.microsoft.directory import PROVIDER, Directory
from mailroom_sandbox.provider_doubles.microsoft.errors import GraphErrors
from mailroom_sandbox.provider_doubles.microsoft.messages import GraphMessages
from mailroom_sandbox.provider_doubles.microsoft.odata import BadQuery
from mailroom_sandbox.provider_doubles.microsoft.subscriptions import Subscriptions
from mailroom_sandbox.provider_doubles.provider_state import ProviderState
from mailroom_sandbox.provider_doubles.tokens import Holder
from mailroom_sandbox.provider_doubles.wire import Call, Refused, Reply

JSON = "application/json; odata.metadata=minimal; odata.streaming=true; IEEE754Compatible=false; charset=utf-8"
_KEY = re.compile(r"^(\w+)\('(.*)'\)$")
_MAX_BATCH = 20
_MAX_IDS = 1000

OnMailbox = Callable[[Call, Target, dict[str, str]], Reply]
OnSubscriptions = Callable[[Call, Holder, dict[str, str]], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Route:
    """`pattern` in lower case; `{name}` stands for one segment of the path."""

    method: str
    pattern: tuple[str, ...]
    on_mailbox: OnMailbox | None = None
    on_subscriptions: OnSubscriptions | None = None

    def match_path(self, method: str, segments: list[str]) -> dict[str, str] | None:
        if method != self.method or len(segments) != len(self.pattern):
            return None
        found = {}
        for wanted, segment in zip(self.pattern, segments, strict=True):
            if wanted.startswith("{"):
                found[wanted[1:-1]] = segment
            elif wanted != segment.lower():
                return None
        return found


class Graph:
    def __init__(
        self,
        state: ProviderState,
        directory: Directory,
        access: GraphAuthorizer,
        messages: GraphMessages,
        delta: Delta,
        subscriptions: Subscriptions,
        errors: GraphErrors,
    ) -> None:
        self._state = state
        self._directory = directory
        self._access = access
        self._errors = errors
        settings = state.settings
        self._gate = CallGate(
            state.faults,
            slots=settings.concurrent_calls_per_mailbox,
            latency_s=settings.latency_ms / 1000,
            too_many=errors.too_many,
        )
        self._routes = [*_mailbox_routes(messages, delta), *_subscription_routes(subscriptions)]
        self._routes.append(_mailbox_route("POST", "translateexchangeids", self._translate_ids))

    async def answer_call(self, call: Call) -> Reply:
        """Whatever is asked, an answer with the headers that Graph always sends."""
        started = time.monotonic()
        facts = CallFacts()
        try:
            reply = await self._answer_or_refuse(call, facts)
        except Refused as refused:
            reply = refused.reply
        except BadQuery as error:
            reply = self._errors.bad_uri(str(error)).reply
        self._state.calls.record_call(PROVIDER, call, facts, reply.status, started)
        reply = insert_odd_bytes(self._state.faults, facts.mailbox, call, reply, JSON)
        request_id = str(uuid.uuid4())
        return reply.with_headers(
            request_id=request_id,
            client_request_id=call.headers.get("client-request-id", request_id),
            x_ms_ags_diagnostic='{"ServerInfo":{"DataCenter":"Sandbox","Slice":"E","Ring":"5","ScaleUnit":"001"}}',
        )

    async def _answer_or_refuse(self, call: Call, facts: CallFacts) -> Reply:
        segments = split_path(call.path)
        if segments == ["$batch"] and call.method == "POST" and not call.batched:
            return await self._answer_batch(call)
        holder = self._access.require_holder(call)
        if segments == ["me"] or (len(segments) == 2 and segments[0].lower() == "users"):
            key = "me" if segments == ["me"] else segments[1]
            user = self._access.require_user(holder, key)
            facts.mailbox = user.address.lower()
            self._gate.refuse_if_unavailable(facts.mailbox, call.path, self._errors.unavailable)
            return self._get_user(call, user.user_id)
        if segments and segments[0].lower() == "me":
            segments = ["users", "me", *segments[1:]]
        for route in self._routes:
            if (found := route.match_path(call.method, segments)) is not None:
                return await self._run_route(route, call, holder, found, facts)
        raise self._errors.bad_request(f"Resource not found for the segment '{segments[-1] if segments else ''}'.")

    async def _run_route(
        self, route: Route, call: Call, holder: Holder, found: dict[str, str], facts: CallFacts
    ) -> Reply:
        if route.on_subscriptions:
            owner = self._directory.find_user(holder.user_id) if holder.user_id else None
            facts.mailbox = owner.address.lower() if owner else None
            self._gate.refuse_if_unavailable(facts.mailbox, call.path, self._errors.unavailable)
            return await route.on_subscriptions(call, holder, found)
        target = self._access.require_mailbox(holder, found["user"])
        facts.mailbox = target.user.address.lower()
        facts.units = 1
        self._spend_call(facts.mailbox)
        self._gate.refuse_if_unavailable(facts.mailbox, call.path, self._errors.unavailable)
        async with self._gate.hold_slot(facts.mailbox):
            if route.on_mailbox is None:
                raise self._errors.bad_request("Resource not found.")
            return route.on_mailbox(call, target, found)

    def _spend_call(self, mailbox: str) -> None:
        """A refused call counts too: whoever goes on calling stays refused."""
        quotas = self._state.faults.find_active(ExactQuotas, mailbox)
        if quotas is None:
            return
        spent, key = self._state.calls.spent, f"{PROVIDER}:{mailbox}"
        wait_s = spent.wait_s(key, 1, limit=quotas.graph_calls, window_s=quotas.graph_window_s)
        spent.spend(key, 1)
        if wait_s > 0:
            raise Refused(self._errors.unavailable(429).with_headers(Retry_After=f"{wait_s:.3f}"))

    def _get_user(self, call: Call, key: str) -> Reply:
        user = self._directory.find_user(key)
        if call.method != "GET" or user is None:
            raise self._errors.bad_request("The request is not supported.")
        given, _, surname = user.display_name.partition(" ")
        body: dict[str, object] = {
            "@odata.context": f"{call.base_url}/v1.0/$metadata#users/$entity",
            "businessPhones": [],
            "displayName": user.display_name,
            "givenName": given,
            "jobTitle": None,
            "mail": user.address,
            "mobilePhone": None,
            "officeLocation": None,
            "preferredLanguage": None,
            "surname": surname,
            "userPrincipalName": user.address,
            "id": user.user_id,
        }
        extra = {"proxyAddresses": [f"SMTP:{user.address}"], "otherMails": []}
        if selected := {
            name.strip().lower() for name in (call.query_value("$select") or "").split(",") if name.strip()
        }:
            kept = {name: value for name, value in {**body, **extra}.items() if name.lower() in selected}
            body = {"@odata.context": body["@odata.context"], **kept}
        return Reply(200, body)

    def _translate_ids(self, call: Call, target: Target, _: dict[str, str]) -> Reply:
        fields = self._parse_body(call)
        by_name = {name.lower(): value for name, value in fields.items()}
        ids, source, to = (by_name.get(name) for name in ("inputids", "sourceidtype", "targetidtype"))
        if not isinstance(ids, list) or len(ids) > _MAX_IDS:
            raise self._errors.bad_request("InputIds must name at most 1000 ids.")
        columns = {"restid": "rest_id", "restimmutableentryid": "immutable_id"}
        from_column, to_column = columns.get(str(source).lower()), columns.get(str(to).lower())
        if not from_column or not to_column:
            raise self._errors.bad_request("Only restId and restImmutableEntryId are known to this sandbox.")
        value: list[dict[str, object]] = []
        for one in ids:
            row = self._state.store.select_row(
                f"select {to_column} as target from graph_message where user_id = ? and {from_column} = ?",  # noqa: S608
                target.user.user_id,
                one,
            )
            failed = {"code": "ErrorItemNotFound", "message": "The specified object was not found in the store."}
            value.append(
                {"sourceId": one, "targetId": row["target"]} if row else {"sourceId": one, "errorDetails": failed}
            )
        context = f"{call.base_url}/v1.0/$metadata#Collection(microsoft.graph.convertIdResult)"
        return Reply(200, {"@odata.context": context, "value": value})

    # Batches

    async def _answer_batch(self, call: Call) -> Reply:
        self._access.require_holder(call)
        requests = self._parse_body(call).get("requests")
        if not isinstance(requests, list) or not 1 <= len(requests) <= _MAX_BATCH:
            raise self._errors.bad_request(f"Number of batch request steps must be from 1 to {_MAX_BATCH}.")
        if not all(isinstance(one, dict) and {"id", "method", "url"} <= one.keys() for one in requests):
            raise self._errors.bad_request("Each request needs id, method and url.")
        names = [str(one["id"]).lower() for one in requests]
        if len(set(names)) < len(names):
            raise self._errors.bad_request("Request ids must be unique.")
        done: dict[str, asyncio.Task[dict[str, object]]] = {}
        for name, one in zip(names, requests, strict=True):
            needed = [done[str(other).lower()] for other in one.get("dependsOn") or () if str(other).lower() in done]
            done[name] = asyncio.create_task(self._answer_step(call, one, needed))
        responses = await asyncio.gather(*done.values())
        return Reply(200, {"responses": responses})

    async def _answer_step(
        self, outer: Call, one: dict[str, object], needed: list[asyncio.Task[dict[str, object]]]
    ) -> dict[str, object]:
        before = await asyncio.gather(*needed)
        if any(int(str(step["status"])) >= 400 for step in before):
            reply = self._errors.build_reply(424, "FailedDependency", "A request that this one depends on has failed.")
        else:
            reply = await self.answer_call(self._call_from_step(outer, one))
        headers = dict(reply.headers)
        if content_type := reply.content_type(JSON):
            headers["Content-Type"] = content_type
        step: dict[str, object] = {"id": one["id"], "status": reply.status, "headers": headers}
        if reply.body is not None:
            is_json = not isinstance(reply.body, bytes)
            step["body"] = reply.body if is_json else base64.b64encode(reply.content()).decode()
        return step

    def _call_from_step(self, outer: Call, one: dict[str, object]) -> Call:
        parts = urlsplit(str(one["url"]))
        stated = one.get("headers")
        headers = {str(k).lower(): str(v) for k, v in stated.items()} if isinstance(stated, dict) else {}
        return replace(
            outer,
            method=str(one["method"]).upper(),
            path="/v1.0/" + parts.path.lstrip("/"),
            query={name: tuple(values) for name, values in parse_qs(parts.query, keep_blank_values=True).items()},
            headers={"authorization": outer.headers.get("authorization", ""), **headers},
            body=orjson.dumps(one["body"]) if "body" in one else b"",
            batched=True,
        )

    def _parse_body(self, call: Call) -> dict[str, object]:
        try:
            body = orjson.loads(call.body)
        except orjson.JSONDecodeError as error:
            raise self._errors.bad_request("Unable to read JSON request payload.") from error
        if not isinstance(body, dict):
            raise self._errors.bad_request("Unable to read JSON request payload.")
        return body


def split_path(path: str) -> list[str]:
    """The segments after the version; `x('y')` is `x/y`, and functions lose their brackets and namespace."""
    segments: list[str] = []
    for segment in path.removeprefix("/v1.0").strip("/").split("/"):
        if keyed := _KEY.match(segment):
            segments += [keyed[1], keyed[2].replace("''", "'")]
        else:
            segments.append(segment.removesuffix("()").removeprefix("microsoft.graph."))
    return [segment for segment in segments if segment]


def _mailbox_route(method: str, path: str, run: OnMailbox) -> Route:
    return Route(method, ("users", "{user}", *path.split("/")), on_mailbox=run)


def _mailbox_routes(messages: GraphMessages, delta: Delta) -> list[Route]:
    get = "GET"
    one = "messages/{message}"
    file = f"{one}/attachments/{{attachment}}"
    return [
        _mailbox_route(get, "mailfolders/delta", lambda call, at, _: delta.answer_folders(call, at)),
        _mailbox_route(get, "mailfolders", lambda call, at, _: messages.list_folders(call, at)),
        _mailbox_route(
            get, "mailfolders/{folder}", lambda call, at, found: messages.get_folder(call, at, found["folder"])
        ),
        _mailbox_route(
            get,
            "mailfolders/{folder}/childfolders",
            lambda call, at, found: messages.list_folders(call, at, found["folder"]),
        ),
        _mailbox_route(
            get, "mailfolders/{folder}/messages/delta", lambda call, at, f: delta.answer_messages(call, at, f["folder"])
        ),
        _mailbox_route(
            get,
            "mailfolders/{folder}/messages",
            lambda call, at, found: messages.list_messages(call, at, found["folder"]),
        ),
        _mailbox_route(get, "messages", lambda call, at, _: messages.list_messages(call, at)),
        _mailbox_route(get, one, lambda call, at, found: messages.get_message(call, at, found["message"])),
        _mailbox_route(get, f"{one}/$value", lambda _, at, found: messages.reply_with_source(at, found["message"])),
        _mailbox_route(
            get, f"{one}/attachments", lambda call, at, found: messages.list_attachments(call, at, found["message"])
        ),
        _mailbox_route(get, file, lambda call, at, f: messages.get_attachment(call, at, f["message"], f["attachment"])),
        _mailbox_route(
            get,
            f"{file}/$value",
            lambda _, at, f: messages.attachment_bytes(at, f["message"], f["attachment"]),
        ),
    ]


def _subscription_routes(subscriptions: Subscriptions) -> list[Route]:
    async def create_subscription(call: Call, holder: Holder, _: dict[str, str]) -> Reply:
        return await subscriptions.create_subscription(call, holder)

    async def list_all(call: Call, holder: Holder, _: dict[str, str]) -> Reply:
        return subscriptions.list_own(call, holder)

    async def get_subscription(call: Call, holder: Holder, found: dict[str, str]) -> Reply:
        return subscriptions.get_subscription(call, holder, found["id"])

    async def renew_subscription(call: Call, holder: Holder, found: dict[str, str]) -> Reply:
        return await subscriptions.renew_subscription(call, holder, found["id"])

    async def delete_subscription(_: Call, holder: Holder, found: dict[str, str]) -> Reply:
        return subscriptions.delete_subscription(holder, found["id"])

    async def reauthorize_subscription(_: Call, holder: Holder, found: dict[str, str]) -> Reply:
        return subscriptions.reauthorize_subscription(holder, found["id"])

    one = ("subscriptions", "{id}")
    return [
        Route("POST", ("subscriptions",), on_subscriptions=create_subscription),
        Route("GET", ("subscriptions",), on_subscriptions=list_all),
        Route("GET", one, on_subscriptions=get_subscription),
        Route("PATCH", one, on_subscriptions=renew_subscription),
        Route("DELETE", one, on_subscriptions=delete_subscription),
        Route("POST", (*one, "reauthorize"), on_subscriptions=reauthorize_subscription),
    ]

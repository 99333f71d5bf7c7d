"""The Gmail API: finds the method for a path, checks who asks, and answers; also for the calls inside a batch."""

import asyncio
import base64
import re
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import partial
from itertools import islice
from urllib.parse import parse_qs, unquote, urlsplit

import orjson

from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.provider_doubles.calls import CallFacts, CallGate
from mailroom_sandbox.provider_doubles.faults import ExactQuotas, GmailQuota, NestedMail, WatchFault
from mailroom_sandbox.provider_doubles.google import errors
from mailroom_sandbox.provider_doubles.google.accounts import (
    PROVIDER,
    SYSTEM_LABELS,
    GmailMailboxes,
    GoogleAccount,
    split_labels,
)
from mailroom_sandbox.provider_doubles.google.history import GmailHistory
from mailroom_sandbox.provider_doubles.google.oauth import MAIL_SCOPES
from mailroom_sandbox.provider_doubles.google.paging import GmailCaller, read_page_bound, read_page_size
from mailroom_sandbox.provider_doubles.google.payload import build_payload, encode_base64url, find_part, list_headers
from mailroom_sandbox.provider_doubles.google.pubsub import Watches
from mailroom_sandbox.provider_doubles.google.query import asks_for_anywhere, matches_query
from mailroom_sandbox.provider_doubles.item_faults import DescribedItem, ItemFaults, ItemRefusals, insert_odd_bytes
from mailroom_sandbox.provider_doubles.provider_state import ProviderState
from mailroom_sandbox.provider_doubles.tokens import Holder
from mailroom_sandbox.provider_doubles.wire import Call, Refused, Reply

JSON = "application/json; charset=UTF-8"
_MAX_BATCH = 100
_ATTACHMENT_ROUNDS = 10  # an attachment id of so many fetches ago still works
_CONFLICT = "Only one user push notification client allowed per developer (call /stop then try again)"
_TOPIC = re.compile(r"^projects/[^/]+/topics/[^/]+$")

Method = Callable[[Call, GmailCaller, str], Reply]


class Gmail:
    def __init__(self, state: ProviderState, mailboxes: GmailMailboxes, watches: Watches) -> None:
        self._state = state
        self._store = state.store
        self._mailboxes = mailboxes
        self._watches = watches
        settings = state.settings
        self._gate = CallGate(
            state.faults,
            slots=settings.concurrent_calls_per_mailbox * 4,
            latency_s=settings.latency_ms / 1000,
            too_many=errors.too_many,
        )
        refusals = ItemRefusals(errors.not_found, errors.access_denied, errors.unavailable)
        self._item_faults = ItemFaults(state.faults, state.now, self._describe_item, refusals)
        self._history = GmailHistory(state, mailboxes, self._item_faults)
        # The last column is what a call costs in quota units (since 2026-05-01).
        self._methods: list[tuple[str, re.Pattern[str], Method, int]] = [
            ("GET", re.compile(r"profile"), self._get_profile, 1),
            ("POST", re.compile(r"watch"), self._start_watch, 100),
            ("POST", re.compile(r"stop"), self._stop_watch, 50),
            ("GET", re.compile(r"history"), self._history.list_records, 2),
            ("GET", re.compile(r"labels"), self._list_labels, 1),
            ("GET", re.compile(r"messages"), self._list_messages, 5),
            ("GET", re.compile(r"messages/([^/]+)"), self._get_message, 20),
            ("GET", re.compile(r"messages/([^/]+/attachments/[^/]+)"), self._get_attachment, 20),
        ]

    async def answer_call(self, call: Call) -> Reply:
        started = time.monotonic()
        facts = CallFacts()
        try:
            reply = await self._answer_or_refuse(call, facts)
        except Refused as refused:
            reply = refused.reply
        self._state.calls.record_call(PROVIDER, call, facts, reply.status, started)
        reply = insert_odd_bytes(self._state.faults, facts.mailbox, call, reply, JSON)
        return reply.with_headers(vary="Origin, X-Origin, Referer")

    async def answer_batch(self, call: Call) -> Reply:
        """multipart/mixed of whole http requests, answered one by one in whatever order they finish."""
        content_type = call.headers.get("content-type", "")
        whole = b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + call.body
        parsed = message_from_bytes(whole, policy=policy.HTTP)
        parts = (
            [part for part in parsed.iter_parts() if isinstance(part, EmailMessage)] if parsed.is_multipart() else []
        )
        if not parts:
            return errors.bad_request("Failed to parse batch request, error: 0 items.", "badRequest").reply
        if len(parts) > _MAX_BATCH:
            text = f"The batch request has too many calls: at most {_MAX_BATCH}."
            return errors.bad_request(text, "badRequest").reply
        # Together, as Google runs them: so a large batch meets the limit of concurrent calls.
        replies = await asyncio.gather(*(self.answer_call(_call_from_part(call, part)) for part in parts))
        boundary = "batch_sandbox_response"
        body = b"".join(
            _batch_part(boundary, str(part.get("content-id", "")), reply)
            for part, reply in zip(parts, replies, strict=True)
        )
        return Reply(200, body + f"--{boundary}--".encode(), media_type=f"multipart/mixed; boundary={boundary}")

    async def _answer_or_refuse(self, call: Call, facts: CallFacts) -> Reply:
        found = re.fullmatch(r"/gmail/v1/users/([^/]+)/(.+)", call.path)
        if not found:
            raise errors.not_found()
        caller = self._authenticate_caller(call, found[1])
        facts.mailbox = caller.account.address.lower()
        for verb, pattern, method, units in self._methods:
            if verb == call.method and (matched := pattern.fullmatch(found[2])):
                self._spend_units(facts.mailbox, units)
                facts.units = units
                if quota := self._state.faults.use_fault_once(GmailQuota, facts.mailbox):
                    raise Refused(errors.over_quota(quota.shape))
                self._gate.refuse_if_unavailable(facts.mailbox, call.path, errors.unavailable)
                async with self._gate.hold_slot(facts.mailbox):
                    return method(call, caller, matched[1] if pattern.groups else "")
        raise errors.not_found()

    def _spend_units(self, mailbox: str, units: int) -> None:
        """A call that is refused for the quota costs nothing."""
        quotas = self._state.faults.find_active(ExactQuotas, mailbox)
        if quotas is None:
            return
        spent, user, project = self._state.calls.spent, f"{PROVIDER}:{mailbox}", PROVIDER
        for key, limit in ((user, quotas.gmail_user_units), (project, quotas.gmail_project_units)):
            if spent.wait_s(key, units, limit=limit, window_s=quotas.gmail_window_s) > 0:
                raise Refused(errors.unavailable(429))
        for key in (user, project):
            spent.spend(key, units)

    def _authenticate_caller(self, call: Call, user: str) -> GmailCaller:
        scheme, _, value = call.headers.get("authorization", "").partition(" ")
        token = self._state.tokens.find_token("access", PROVIDER, value) if scheme.lower() == "bearer" else None
        holder: Holder | None = token.holder if token else None
        if token is None or holder is None or token.problem or holder.user_id is None:
            raise errors.unauthenticated()
        account = self._mailboxes.find_account(holder.user_id)
        if account is None:
            raise errors.unauthenticated()
        scopes = {MAIL_SCOPES[scope] for scope in holder.scopes if scope in MAIL_SCOPES}
        if not scopes:
            raise errors.insufficient_scope()
        address = unquote(user)
        if address not in ("me", account.user_id) and address.lower() != account.address.lower():
            raise errors.refuse_call(403, "forbidden", f"Delegation denied for {account.address}")
        if account.disabled:
            raise errors.refuse_call(
                400, "failedPrecondition", "Mail service not enabled", status="FAILED_PRECONDITION"
            )
        return GmailCaller(account, metadata_only="gmail.metadata" in scopes)

    # The mailbox

    def _get_profile(self, _: Call, caller: GmailCaller, __: str) -> Reply:
        counts = self._store.select_row(
            "select count(*) as messages, count(distinct thread_id) as threads from gmail_message where user_id = ?",
            caller.account.user_id,
        )
        body: dict[str, object] = {
            "emailAddress": caller.account.address,
            "messagesTotal": counts["messages"] if counts else 0,
            "threadsTotal": counts["threads"] if counts else 0,
            "historyId": str(self._history.find_newest_visible_id(caller.account)),
        }
        return Reply(200, body)

    def _start_watch(self, call: Call, caller: GmailCaller, _: str) -> Reply:
        fields = _parse_json(call)
        refusal = self._state.faults.use_fault_once(WatchFault, caller.account.address)
        if refusal and refusal.mode == "refused":
            raise Refused(errors.watch_refused(refusal.status))
        topic = fields.get("topicName")
        if not isinstance(topic, str) or not _TOPIC.match(topic):
            raise errors.bad_request("Invalid topicName does not match projects/*/topics/*")
        if topic != self._state.settings.pubsub_topic:
            raise errors.refuse_call(404, "notFound", f"Resource not found (resource={topic.rpartition('/')[2]}).")
        current = self._watches.find_topic(caller.account)
        if current not in (None, topic):
            raise errors.bad_request(_CONFLICT)
        labels = fields.get("labelIds")
        behavior = str(fields.get("labelFilterBehavior") or fields.get("labelFilterAction") or "include").lower()
        if behavior not in ("include", "exclude"):
            raise errors.bad_request("Invalid labelFilterBehavior.")
        wanted = frozenset(str(label) for label in labels) if isinstance(labels, list) else frozenset[str]()
        expires_ms = self._watches.start_watch(caller.account, topic, wanted, behavior)
        body = {"historyId": str(self._history.find_newest_visible_id(caller.account))}
        return Reply(200, body if refusal else {**body, "expiration": str(expires_ms)})

    def _stop_watch(self, _: Call, caller: GmailCaller, __: str) -> Reply:
        self._watches.stop_watch(caller.account)
        return Reply(204)

    def _list_labels(self, _: Call, caller: GmailCaller, __: str) -> Reply:
        from_system = [{"id": one, "name": one, "type": "system"} for one in SYSTEM_LABELS]
        own = [
            {"id": row["label_id"], "name": row["name"], "type": "user"}
            for row in self._store.select_rows("select * from label where user_id = ?", caller.account.user_id)
        ]
        return Reply(200, {"labels": from_system + own})

    # Messages

    def _describe_item(self, row: sqlite3.Row) -> DescribedItem:
        subject = mime.parse_mail(self._read_source(row)).read_header("subject")
        arrived_ms = self._store.select_number(
            "select min(at_ms) from history where user_id = ? and message_id = ?", row["user_id"], row["message_id"]
        )
        return DescribedItem((row["message_id"], subject or ""), arrived_ms)

    def _list_messages(self, call: Call, caller: GmailCaller, _: str) -> Reply:
        query = call.query_value("q") or ""
        if query and caller.metadata_only:
            raise errors.refuse_call(403, "forbidden", "Metadata scope does not support 'q' parameter")
        labels = set(call.query.get("labelIds", ()))
        hidden_too = (call.query_value("includeSpamTrash") or "").lower() == "true" or asks_for_anywhere(query)
        before = read_page_bound(self._state.seal, call, "list", caller.account, 2**62)
        size = read_page_size(call)
        candidates = self._store.select_rows(
            "select * from gmail_message where user_id = ? and internal_ms * 1000000 + pk < ?"
            " order by internal_ms * 1000000 + pk desc",
            caller.account.user_id,
            before,
        )
        listed = (
            row
            for row in candidates
            if self._is_listed(row, labels, query, hidden_too)
            and self._item_faults.is_listed(caller.account.address, row)
        )
        rows = list(islice(listed, size + 1))
        self._item_faults.refuse_page("list", caller.account.address, rows[:size])
        body: dict[str, object] = {}
        if rows:
            body["messages"] = [{"id": row["message_id"], "threadId": row["thread_id"]} for row in rows[:size]]
        if len(rows) > size:
            last = rows[size - 1]
            token = {"user": caller.account.user_id, "after": last["internal_ms"] * 1_000_000 + last["pk"]}
            body["nextPageToken"] = self._state.seal.seal_token("list", token)
        # An estimate indeed: what is left is not looked at.
        body["resultSizeEstimate"] = len(rows)
        return Reply(200, body)

    def _is_listed(self, row: sqlite3.Row, labels: set[str], query: str, hidden_too: bool) -> bool:
        has = split_labels(row["labels"])
        if not labels <= has or (not hidden_too and has & {"SPAM", "TRASH"} and not labels & {"SPAM", "TRASH"}):
            return False
        return matches_query(query, row, partial(self._read_source, row), self._state.now())

    def _get_message(self, call: Call, caller: GmailCaller, message_id: str) -> Reply:
        form = (call.query_value("format") or "full").lower()
        if form not in ("minimal", "metadata", "full", "raw"):
            raise errors.bad_request("Invalid value for format")
        if caller.metadata_only and form in ("full", "raw"):
            raise errors.refuse_call(403, "forbidden", f"Metadata scope doesn't allow format {form.upper()}")
        row = self._require_message(caller.account, message_id)
        self._item_faults.refuse_message(caller.account.address, row)
        source = self._read_source(row)
        root = mime.parse_mail(source)
        labels = sorted(split_labels(row["labels"]))
        body: dict[str, object] = {"id": row["message_id"], "threadId": row["thread_id"]}
        if labels:
            body["labelIds"] = labels
        body |= {
            "snippet": "" if caller.metadata_only else _build_snippet(root),
            "sizeEstimate": len(source),
            "historyId": str(row["history_id"]),
            "internalDate": str(row["internal_ms"]),
        }
        if form == "raw":
            body["raw"] = base64.urlsafe_b64encode(source).decode()
        elif form == "metadata":
            names = call.query.get("metadataHeaders", ())
            body["payload"] = {"partId": "", "mimeType": root.content_type, "headers": list_headers(root, names)}
        elif form == "full":
            hides_nested = self._state.faults.find_active(NestedMail, caller.account.address) is not None
            body["payload"] = build_payload(root, self._attachment_ids(row), hides_nested=hides_nested)
        return Reply(200, body)

    def _get_attachment(self, _: Call, caller: GmailCaller, path: str) -> Reply:
        message_id, attachment_id = path.split("/attachments/")
        if caller.metadata_only:
            raise errors.insufficient_scope()
        row = self._require_message(caller.account, message_id)
        self._item_faults.refuse_message(caller.account.address, row)
        named = self._state.seal.open_token("attachment", attachment_id)
        if named is None or named["message"] != row["message_id"]:
            raise errors.bad_request("Invalid attachment token")
        if row["attachment_round"] - int(str(named["round"])) >= _ATTACHMENT_ROUNDS:
            raise errors.bad_request("Invalid attachment token")
        part = find_part(mime.parse_mail(self._read_source(row)), str(named["part"]))
        if part is None:
            raise errors.not_found()
        reply = Reply(200, {"size": len(part.content), "data": encode_base64url(part.content)})
        return self._item_faults.shape_part(caller.account.address, row, part.filename, reply)

    def _attachment_ids(self, row: sqlite3.Row) -> Callable[[mime.MimePart], str]:
        """New ones with each fetch."""
        number = row["attachment_round"] + 1
        self._store.execute_sql("update gmail_message set attachment_round = ? where pk = ?", number, row["pk"])

        def attachment_id(part: mime.MimePart) -> str:
            named = {"message": row["message_id"], "part": part.part_id, "round": number}
            return self._state.seal.seal_token("attachment", named)

        return attachment_id

    def _require_message(self, account: GoogleAccount, message_id: str) -> sqlite3.Row:
        try:
            return self._mailboxes.read_message(account, message_id)
        except LookupError as error:
            raise errors.not_found() from error

    def _read_source(self, row: sqlite3.Row) -> bytes:
        found = self._store.select_row("select source from mime where sha256 = ?", row["mime_sha256"])
        if found is None:
            raise errors.not_found()
        return bytes(found["source"])


def _build_snippet(root: mime.MimePart) -> str:
    text = mime.body_part(root, "text/plain") or mime.body_part(root, "text/html")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text.text())).strip()[:200] if text else ""


def _parse_json(call: Call) -> dict[str, object]:
    try:
        body = orjson.loads(call.body or b"{}")
    except orjson.JSONDecodeError as error:
        raise errors.bad_request("Invalid JSON payload received.", "badRequest") from error
    if not isinstance(body, dict):
        raise errors.bad_request("Invalid JSON payload received.", "badRequest")
    return body


def _call_from_part(outer: Call, part: EmailMessage) -> Call:
    content = part.get_payload(decode=True)
    head, _, body = (content if isinstance(content, bytes) else b"").replace(b"\r\n", b"\n").partition(b"\n\n")
    request_line, *lines = head.decode("utf-8", "replace").splitlines() or [""]
    method, _, rest = request_line.partition(" ")
    parts = urlsplit(rest.rpartition(" HTTP/")[0] or rest)
    stated = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    authorization = {"authorization": outer.headers["authorization"]} if "authorization" in outer.headers else {}
    return replace(
        outer,
        method=method.upper(),
        path=unquote(parts.path),
        query={name: tuple(values) for name, values in parse_qs(parts.query, keep_blank_values=True).items()},
        headers={**authorization, **stated},
        body=body,
        batched=True,
    )


def _batch_part(boundary: str, content_id: str, reply: Reply) -> bytes:
    content_type = reply.content_type(JSON)
    headers = [f"HTTP/1.1 {reply.status} -"]
    if content_type:
        headers.append(f"Content-Type: {content_type}")
    headers += [f"{name}: {value}" for name, value in reply.headers.items()]
    head = f"--{boundary}\r\nContent-Type: application/http\r\nContent-ID: <response-{content_id.strip('<>')}>\r\n\r\n"
    return head.encode() + "\r\n".join(headers).encode() + b"\r\n\r\n" + reply.content() + b"\r\n"

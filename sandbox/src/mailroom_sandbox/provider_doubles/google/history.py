"""Gmail's history: what happened to a mailbox since a history id, page by page, in whatever shape a fault gives it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from mailroom_sandbox.provider_doubles.faults import CursorRefusedFault, DeltaLag, DeltaShape
from mailroom_sandbox.provider_doubles.google import errors
from mailroom_sandbox.provider_doubles.google.accounts import GmailMailboxes, GoogleAccount, split_labels
from mailroom_sandbox.provider_doubles.google.paging import GmailCaller, read_page_bound, read_page_size
from mailroom_sandbox.provider_doubles.item_faults import ItemFaults
from mailroom_sandbox.provider_doubles.provider_state import ProviderState
from mailroom_sandbox.provider_doubles.wire import Call, Reply, to_ms

_TYPES = ("messageAdded", "messageDeleted", "labelAdded", "labelRemoved")
_MEMBER_OF = {
    "messageAdded": "messagesAdded",
    "messageDeleted": "messagesDeleted",
    "labelAdded": "labelsAdded",
    "labelRemoved": "labelsRemoved",
}


class GmailHistory:
    def __init__(self, state: ProviderState, mailboxes: GmailMailboxes, item_faults: ItemFaults) -> None:
        self._store = state.store
        self._faults = state.faults
        self._seal = state.seal
        self._now = state.now
        self._mailboxes = mailboxes
        self._item_faults = item_faults

    def list_records(self, call: Call, caller: GmailCaller, _: str) -> Reply:
        account = caller.account
        start = call.query_value("startHistoryId") or ""
        if not start.isdigit():
            raise errors.bad_request("Invalid value for startHistoryId")
        shape = self._faults.find_active(DeltaShape, account.address) or DeltaShape()
        since = read_page_bound(self._seal, call, "history", account, self._find_start(account, int(start), shape))
        if self._is_refused(account, int(start), in_the_middle=call.query_value("pageToken") is not None):
            raise errors.not_found()
        types = call.query.get("historyTypes") or _TYPES
        if not set(types) <= set(_TYPES):
            raise errors.bad_request("Invalid value for historyTypes")
        horizon = self.find_newest_visible_id(account)
        body: dict[str, object] = {"historyId": str(max(horizon, int(start)))}
        if (empty_pages := self._read_empty_pages(call)) < shape.empty_pages:
            body["nextPageToken"] = self._seal_page(account, since, empty_pages + 1)
            return Reply(200, body)
        size = read_page_size(call)
        rows = self._store.select_rows(
            "select * from history where user_id = ? and history_id > ? and history_id <= ?"
            " order by history_id limit ?",
            account.user_id,
            since,
            horizon,
            size + 1,
        )
        # A page is cut before the filter: so it can be empty and still have a next one.
        wanted = call.query_value("labelId")
        shown = [
            row
            for row in rows[:size]
            if row["kind"] in types and (wanted is None or wanted in split_labels(row["labels_after"]))
        ]
        self._item_faults.refuse_page("delta", account.address, self._select_existing(account, shown))
        if shown:
            body["history"] = [_build_history_record(row) for row in shown for _ in range(1 + shape.repeat_items)]
        if len(rows) > size:
            body["nextPageToken"] = self._seal_page(account, rows[size - 1]["history_id"], 0)
        return Reply(200, body)

    def _seal_page(self, account: GoogleAccount, after: int, empty_pages: int) -> str:
        token = {"user": account.user_id, "after": after, "empty_pages": empty_pages}
        return self._seal.seal_token("history", token)

    def _find_start(self, account: GoogleAccount, start: int, shape: DeltaShape) -> int:
        """Where the client stands, or so many records before it as are replayed."""
        if not shape.replayed_changes:
            return start
        return self._store.select_number(
            "select history_id from history where user_id = ? and history_id <= ?"
            " order by history_id desc limit 1 offset ?",
            account.user_id,
            start,
            shape.replayed_changes,
        )

    def _read_empty_pages(self, call: Call) -> int:
        token = call.query_value("pageToken")
        content = self._seal.open_token("history", token) if token else None
        return int(str(content.get("empty_pages", 0))) if content else 0

    def _select_existing(self, account: GoogleAccount, records: Sequence[sqlite3.Row]) -> Iterator[sqlite3.Row]:
        """The messages that the records tell of, without those that are gone."""
        for record in records:
            with suppress(LookupError):
                yield self._mailboxes.read_message(account, record["message_id"])

    def _is_refused(self, account: GoogleAccount, start: int, *, in_the_middle: bool) -> bool:
        fault = self._faults.find_active(CursorRefusedFault, account.address)
        if fault and (fault.where == "middle") == in_the_middle:
            self._faults.use_fault_once(CursorRefusedFault, account.address)
            return True
        return start < account.oldest_history_id

    def find_newest_visible_id(self, account: GoogleAccount) -> int:
        """The newest id that the API shows already: history may lag behind what happened."""
        lag = self._faults.find_active(DeltaLag, account.address)
        unlisted = self._item_faults.find_unlisted(account.address, partial(self._select_arrived_since, account))
        if unlisted:
            first = "select min(history_id) from history where user_id = ? and message_id = ?"
            return min(self._store.select_number(first, account.user_id, row["message_id"]) for row in unlisted) - 1
        if lag is None:
            return account.history_id
        until_ms = to_ms(self._now()) - int(lag.lag_s * 1000)
        seen = self._store.select_number(
            "select max(history_id) from history where user_id = ? and at_ms <= ?", account.user_id, until_ms
        )
        return max(seen, account.oldest_history_id)

    def _select_arrived_since(self, account: GoogleAccount, since_ms: int) -> list[sqlite3.Row]:
        return self._store.select_rows(
            "select m.* from gmail_message m where m.user_id = ? and exists (select 1 from history h"
            " where h.user_id = m.user_id and h.message_id = m.message_id and h.kind = 'messageAdded' and h.at_ms > ?)",
            account.user_id,
            since_ms,
        )


def _build_history_record(row: sqlite3.Row) -> dict[str, object]:
    message: dict[str, object] = {"id": row["message_id"], "threadId": row["thread_id"]}
    after = sorted(split_labels(row["labels_after"]))
    typed: dict[str, object] = {"message": {**message, **({"labelIds": after} if after else {})}}
    if row["kind"].startswith("label"):
        typed["labelIds"] = sorted(split_labels(row["labels"]))
    return {"id": str(row["history_id"]), "messages": [message], _MEMBER_OF[row["kind"]]: [typed]}

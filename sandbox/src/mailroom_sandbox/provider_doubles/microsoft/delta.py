"""Delta queries: a round of pages from nothing or from a token, ended by the token for the next round.

A token carries the whole query, sealed; nothing is remembered per client. A round from nothing lists what the folder
holds, newest first; the next shows what changed since the round began. So changes made during a round are seen by the
next one, some perhaps twice: that is what the real service does too.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mailroom_sandbox.provider_doubles.fault_switchboard import Faults
from mailroom_sandbox.provider_doubles.faults import CursorRefusedFault, DeltaLag, DeltaShape
from mailroom_sandbox.provider_doubles.microsoft.access import Target
from mailroom_sandbox.provider_doubles.microsoft.errors import GraphErrors
from mailroom_sandbox.provider_doubles.microsoft.messages import GraphMessages, check_options, wants_immutable
from mailroom_sandbox.provider_doubles.microsoft.odata import (
    BadQuery,
    build_link,
    parse_count,
    parse_filter,
    split_list,
)
from mailroom_sandbox.provider_doubles.microsoft.render import check_selected
from mailroom_sandbox.provider_doubles.provider_state import Clock
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import Call, Refused, Reply, TokenSeal, to_ms

_OPTIONS = frozenset({"$select", "$filter", "$orderby", "$top", "$expand", "$skiptoken", "$deltatoken"})
_DEFAULT_PAGE = 10
_LARGEST_PAGE = 1000
_CHANGE_TYPES = frozenset({"created", "updated", "deleted"})


@dataclass(frozen=True, slots=True)
class DeltaRound:
    """`since` is where the changes begin (None: list everything), `until` where the round ends, `after` where it is.

    `empty_pages` were shown since the last page that was not.
    """

    user_id: str
    folder_id: str
    generation: int
    until: int
    since: int | None = None
    after: int | None = None
    selected: tuple[str, ...] = ()
    change_types: tuple[str, ...] = ()
    received_from_ms: int | None = None
    expand: str | None = None
    top: int | None = None
    empty_pages: int = 0

    def to_token(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_token(cls, content: Mapping[str, object]) -> "DeltaRound":
        known = {name: content[name] for name in cls.__slots__ if name in content}
        known["selected"] = tuple(known["selected"])  # type: ignore[arg-type] # the seal vouches for what it holds
        known["change_types"] = tuple(known["change_types"])  # type: ignore[arg-type]
        return cls(**known)  # type: ignore[arg-type]


class Delta:
    def __init__(
        self, store: Store, seal: TokenSeal, faults: Faults, now: Clock, messages: GraphMessages, errors: GraphErrors
    ) -> None:
        self._store = store
        self._seal = seal
        self._faults = faults
        self._now = now
        self._messages = messages
        self._errors = errors

    def answer_messages(self, call: Call, target: Target, folder: str) -> Reply:
        folder_id = str(self._messages.folder_row(target, folder)["folder_id"])
        at = self._find_round(call, target, folder_id)
        size = self._read_page_size(call, at)
        path = f"mailFolders/{folder_id}/messages/delta"
        shape = self._faults.find_active(DeltaShape, target.user.address) or DeltaShape()
        if at.empty_pages < shape.empty_pages:
            return self._build_reply(call, target, replace(at, empty_pages=at.empty_pages + 1), path, [], goes_on=True)
        rows = self._list_messages(at, size + 1) if at.since is None else self._list_changes(at, size + 1)
        page, goes_on = rows[:size], len(rows) > size
        self._messages.item_faults.refuse_page("delta", target.user.address, self._select_shown(at, page))
        value = [item for row in page if (item := self._build_item(at, row, call, target, shape)) is not None]
        if shape.repeat_items:
            value = [item for item in value for _ in range(2)]
        after = page[-1]["at"] if page else at.after
        at = replace(at, after=after, empty_pages=0)
        return self._build_reply(call, target, at, path, value, goes_on=goes_on)

    def answer_folders(self, call: Call, target: Target) -> Reply:
        at = self._find_round(call, target, "")
        size = self._read_page_size(call, at)
        rows = self._store.select_rows(
            "select folder_id, max(seq) as at from folder_change where user_id = ? and seq > ? and seq <= ?"
            " group by folder_id having max(seq) > ? order by max(seq) limit ?",
            at.user_id,
            at.since or 0,
            at.until,
            at.after or 0,
            size + 1,
        )
        page, goes_on = rows[:size], len(rows) > size
        value = [item for row in page if (item := self._build_folder_item(at, target, row["folder_id"])) is not None]
        at = replace(at, after=page[-1]["at"] if page else at.after)
        return self._build_reply(call, target, at, "mailFolders/delta", value, goes_on=goes_on)

    def _build_folder_item(self, at: DeltaRound, target: Target, folder_id: str) -> dict[str, object] | None:
        """None for a folder that is gone and that this client was never told of."""
        if self._store.select_number("select count(*) from folder where folder_id = ?", folder_id):
            return self._messages.build_folder_json(self._messages.folder_row(target, folder_id))
        return {"id": folder_id, "@removed": {"reason": "deleted"}} if at.since is not None else None

    # Where the round stands

    def _find_round(self, call: Call, target: Target, folder_id: str) -> DeltaRound:
        for kind, where in (("$skiptoken", "middle"), ("$deltatoken", "start")):
            if token := call.query_value(kind):
                return self._continue_round(call, target, folder_id, kind, token, where)
        check_options(call, _OPTIONS)
        change_types = tuple(split_list(call.query_value("changeType")))
        if not set(change_types) <= _CHANGE_TYPES:
            raise BadQuery("The value of the changeType query option is not valid.")
        return DeltaRound(
            user_id=target.user.user_id,
            folder_id=folder_id,
            generation=self._read_generation(target),
            until=self._find_newest_visible_change(target, folder_id),
            selected=check_selected(split_list(call.query_value("$select"))) if folder_id else (),
            change_types=change_types,
            received_from_ms=self._read_received_from(call),
            expand=call.query_value("$expand"),
            top=parse_count(call.query_value("$top"), "$top", most=_LARGEST_PAGE),
        )

    def _continue_round(
        self, call: Call, target: Target, folder_id: str, kind: str, token: str, where: str
    ) -> DeltaRound:
        content = self._seal.open_token(kind, token)
        if content is None:
            raise self._errors.bad_request("Badly formed token.")
        at = DeltaRound.from_token(content)
        if (at.user_id, at.folder_id) != (target.user.user_id, folder_id):
            raise self._errors.bad_request("Badly formed token.")
        fault = self._faults.find_active(CursorRefusedFault, target.user.address)
        strikes = fault is not None and fault.where == where
        if strikes:
            self._faults.use_fault_once(CursorRefusedFault, target.user.address)
        if strikes or at.generation != self._read_generation(target):
            raise self._refuse_cursor(call, at)
        if kind == "$deltatoken":
            until = max(at.until, self._find_newest_visible_change(target, folder_id))
            return replace(at, since=self._find_start(target, folder_id, at.until), until=until, after=None)
        return at

    def _find_start(self, target: Target, folder_id: str, cursor: int) -> int:
        """Where the cursor stands, or so many changes before it as are replayed."""
        shape = self._faults.find_active(DeltaShape, target.user.address)
        if shape is None or not shape.replayed_changes or not folder_id:
            return cursor
        return self._store.select_number(
            "select seq from graph_change where folder_id = ? and seq <= ? order by seq desc limit 1 offset ?",
            folder_id,
            cursor,
            shape.replayed_changes,
        )

    def _refuse_cursor(self, call: Call, at: DeltaRound) -> Refused:
        low, high = at.generation, self._read_generation_number(at.user_id) + 1
        text = f"The sync state generation is not found; generation={low};[highest={high}][{high}]."
        path = f"users/{at.user_id}/mailFolders/{at.folder_id}/messages/delta"
        return self._errors.refuse_call(
            410, "SyncStateNotFound", text, Location=build_link(call.base_url, path, {"$deltatoken": ""})
        )

    def _find_newest_visible_change(self, target: Target, folder_id: str) -> int:
        """The last change that is visible already: a delta may lag behind."""
        lag = self._faults.find_active(DeltaLag, target.user.address)
        until_ms = to_ms(self._now()) - int(lag.lag_s * 1000 if lag else 0)
        if folder_id:
            newest = self._store.select_number(
                "select max(seq) from graph_change where folder_id = ? and at_ms <= ?", folder_id, until_ms
            )
            return min([newest, *self._find_changes_before_unlisted(target)])
        return self._store.select_number(
            "select max(seq) from folder_change where user_id = ? and at_ms <= ?", target.user.user_id, until_ms
        )

    def _find_changes_before_unlisted(self, target: Target) -> list[int]:
        """A delta tells in order: it stops before a message that is not listed yet."""
        unlisted = self._messages.item_faults.find_unlisted(
            target.user.address,
            lambda since_ms: self._store.select_rows(
                "select * from graph_message where user_id = ? and created_ms > ?", target.user.user_id, since_ms
            ),
        )
        first_change = "select min(seq) from graph_change where message_pk = ?"
        return [self._store.select_number(first_change, message["pk"]) - 1 for message in unlisted]

    def _read_generation(self, target: Target) -> int:
        return self._read_generation_number(target.user.user_id)

    def _read_generation_number(self, user_id: str) -> int:
        return self._store.select_number(
            "select sync_generation from mailbox where provider = 'outlook' and user_id = ?", user_id
        )

    def _read_received_from(self, call: Call) -> int | None:
        conditions = parse_filter(call.query_value("$filter"))
        if not conditions:
            return None
        (condition, *more) = conditions
        if more or condition.member != "receivedDateTime" or condition.operator not in ("ge", "gt"):
            raise BadQuery("Delta supports only $filter=receivedDateTime ge or gt.")
        if not isinstance(condition.value, int):
            raise BadQuery("'receivedDateTime' must be compared with a time.")
        return condition.value + (condition.operator == "gt")

    def _read_page_size(self, call: Call, at: DeltaRound) -> int:
        page_size = parse_count(call.read_preferences().get("odata.maxpagesize"), "maxpagesize", most=_LARGEST_PAGE)
        return page_size or at.top or _DEFAULT_PAGE

    # What a page shows

    def _list_messages(self, at: DeltaRound, limit: int) -> list[sqlite3.Row]:
        return self._store.select_rows(
            "select m.pk as at, m.pk as message_pk, 'created' as kinds from graph_message m"
            " where m.folder_id = ? and m.pk < ? and m.received_ms >= ? and exists (select 1 from graph_change c"
            "  where c.message_pk = m.pk and c.folder_id = m.folder_id and c.kind = 'created' and c.seq <= ?)"
            " order by m.pk desc limit ?",
            at.folder_id,
            at.after if at.after is not None else 2**62,
            at.received_from_ms or 0,
            at.until,
            limit,
        )

    def _list_changes(self, at: DeltaRound, limit: int) -> list[sqlite3.Row]:
        return self._store.select_rows(
            "select message_pk, max(seq) as at, group_concat(kind) as kinds from graph_change"
            " where folder_id = ? and seq > ? and seq <= ? group by message_pk having max(seq) > ?"
            " order by max(seq) limit ?",
            at.folder_id,
            at.since or 0,
            at.until,
            at.after or 0,
            limit,
        )

    def _select_shown(self, at: DeltaRound, page: Sequence[sqlite3.Row]) -> Iterator[sqlite3.Row]:
        for row in page:
            if (message := self._find_shown(at, row)) is not None:
                yield message

    def _find_shown(self, at: DeltaRound, row: sqlite3.Row) -> sqlite3.Row | None:
        return self._store.select_row(
            "select * from graph_message where pk = ? and folder_id = ?", row["message_pk"], at.folder_id
        )

    def _build_item(
        self, at: DeltaRound, row: sqlite3.Row, call: Call, target: Target, shape: DeltaShape
    ) -> dict[str, object] | None:
        message = self._find_shown(at, row)
        if message is None:
            return self._build_removed_item(at, row["message_pk"], call) if self._is_wanted(at, "deleted") else None
        if at.received_from_ms and message["received_ms"] < at.received_from_ms:
            return None
        if shape.lose_moves and at.since is not None and self._was_moved(row["message_pk"], at.since):
            return None
        kind = "created" if "created" in row["kinds"].split(",") else "updated"
        return (
            self._messages.delta_item(message, call, target, at.selected, at.expand)
            if self._is_wanted(at, kind)
            else None
        )

    def _was_moved(self, message_pk: int, since: int) -> bool:
        return bool(
            self._store.select_number(
                "select count(*) from graph_change where message_pk = ? and kind = 'removed' and seq > ?",
                message_pk,
                since,
            )
        )

    def _is_wanted(self, at: DeltaRound, kind: str) -> bool:
        return not at.change_types or kind in at.change_types

    def _build_removed_item(self, at: DeltaRound, message_pk: int, call: Call) -> dict[str, object] | None:
        row = self._store.select_row(
            "select * from graph_change where message_pk = ? and folder_id = ? and kind = 'removed'"
            " order by seq desc limit 1",
            message_pk,
            at.folder_id,
        )
        if row is None:
            return None
        message_id = row["immutable_id"] if wants_immutable(call) else row["rest_id"]
        return {"@odata.type": "#microsoft.graph.message", "id": message_id, "@removed": {"reason": "deleted"}}

    def _build_reply(
        self,
        call: Call,
        target: Target,
        at: DeltaRound,
        path: str,
        value: Sequence[Mapping[str, object]],
        *,
        goes_on: bool,
    ) -> Reply:
        kind = "message" if at.folder_id else "mailFolder"
        body: dict[str, object] = {
            "@odata.context": f"{call.base_url}/v1.0/$metadata#Collection({kind})",
            "value": value,
        }
        path = f"users/{target.user.user_id}/{path}"
        if goes_on:
            token = self._seal.seal_token("$skiptoken", at.to_token())
            body["@odata.nextLink"] = build_link(call.base_url, path, {"$skiptoken": token})
        else:
            token = self._seal.seal_token("$deltatoken", replace(at, after=None).to_token())
            body["@odata.deltaLink"] = build_link(call.base_url, path, {"$deltatoken": token})
        return Reply(200, body)

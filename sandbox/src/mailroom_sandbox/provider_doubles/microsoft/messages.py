"""Reading messages, attachments and folders."""

import sqlite3
from collections.abc import Sequence

from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.provider_doubles.fault_switchboard import Faults
from mailroom_sandbox.provider_doubles.item_faults import DescribedItem, ItemFaults, ItemRefusals
from mailroom_sandbox.provider_doubles.microsoft.access import Target
from mailroom_sandbox.provider_doubles.microsoft.attachments import Attachment, build_attachment_json
from mailroom_sandbox.provider_doubles.microsoft.attachments import check_selected as check_attachment_members
from mailroom_sandbox.provider_doubles.microsoft.directory import ROOT, Directory
from mailroom_sandbox.provider_doubles.microsoft.errors import GraphErrors
from mailroom_sandbox.provider_doubles.microsoft.odata import (
    BadQuery,
    Condition,
    build_link,
    parse_count,
    parse_expand,
    parse_filter,
    parse_orderby,
    split_list,
)
from mailroom_sandbox.provider_doubles.microsoft.render import (
    build_message_json,
    build_nested_json,
    check_selected,
    stored_attachments,
)
from mailroom_sandbox.provider_doubles.provider_state import Clock
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import Call, Reply

_TIMES = {
    "receivedDateTime": "received_ms",
    "lastModifiedDateTime": "modified_ms",
    "createdDateTime": "created_ms",
}
_LIST_OPTIONS = frozenset({"$select", "$filter", "$orderby", "$top", "$skip", "$expand"})
_DEFAULT_PAGE = 10
_LARGEST_PAGE = 1000


def check_options(call: Call, known: frozenset[str]) -> None:
    """An option that this sandbox does not play is refused, rather than ignored in silence."""
    for name in call.query:
        if name.startswith("$") and name not in known:
            raise BadQuery(f"The query option '{name}' is not supported here.")


def wants_immutable(call: Call) -> bool:
    return call.read_preferences().get("idtype", "").lower() == "immutableid"


class GraphMessages:
    def __init__(self, store: Store, directory: Directory, errors: GraphErrors, faults: Faults, now: Clock) -> None:
        self._store = store
        self._directory = directory
        self._errors = errors
        refusals = ItemRefusals(errors.item_not_found, errors.access_denied, errors.unavailable)
        self.item_faults = ItemFaults(faults, now, self._describe_item, refusals)

    # Folders

    def list_folders(self, call: Call, target: Target, parent: str | None = None) -> Reply:
        parent_row = self.folder_row(target, parent or ROOT)
        hidden_too = (call.query_value("includeHiddenFolders") or "").lower() == "true"
        rows = self._directory.list_folders(target.user.user_id, parent_row["folder_id"], hidden_too=hidden_too)
        top = parse_count(call.query_value("$top"), "$top", most=_LARGEST_PAGE) or _DEFAULT_PAGE
        skip = parse_count(call.query_value("$skip"), "$skip", most=10**9) or 0
        path = f"users('{target.user.user_id}')/mailFolders"
        body: dict[str, object] = {"@odata.context": f"{call.base_url}/v1.0/$metadata#{path}"}
        selected = {name.lower() for name in split_list(call.query_value("$select"))}
        body["value"] = [self.build_folder_json(row, selected) for row in rows[skip : skip + top]]
        if len(rows) > skip + top:
            below = f"/{parent_row['folder_id']}/childFolders" if parent else ""
            options = {"$skip": str(skip + top), "$top": str(top)}
            options |= {"includeHiddenFolders": "true"} if hidden_too else {}
            options |= {"$select": call.query_value("$select") or ""} if selected else {}
            body["@odata.nextLink"] = build_link(
                call.base_url, f"users/{target.user.user_id}/mailFolders{below}", options
            )
        return Reply(200, body)

    def get_folder(self, call: Call, target: Target, key: str) -> Reply:
        row = self.folder_row(target, key)
        context = f"{call.base_url}/v1.0/$metadata#users('{target.user.user_id}')/mailFolders/$entity"
        selected = {name.lower() for name in split_list(call.query_value("$select"))}
        return Reply(200, {"@odata.context": context, **self.build_folder_json(row, selected)})

    def folder_row(self, target: Target, key: str) -> sqlite3.Row:
        row = self._directory.folder(target.user.user_id, key)
        if row is None:
            raise self._errors.item_not_found()
        return row

    def build_folder_json(self, row: sqlite3.Row, selected: set[str] | None = None) -> dict[str, object]:
        children = self._store.select_number(
            "select count(*) from folder where parent_id = ? and is_hidden = 0", row["folder_id"]
        )
        counts = self._store.select_row(
            "select count(*) as total, coalesce(sum(is_read = 0), 0) as unread from graph_message where folder_id = ?",
            row["folder_id"],
        )
        everything: dict[str, object] = {
            "id": row["folder_id"],
            "displayName": row["display_name"],
            "parentFolderId": row["parent_id"] or row["folder_id"],
            "childFolderCount": children,
            "unreadItemCount": counts["unread"] if counts else 0,
            "totalItemCount": counts["total"] if counts else 0,
            "isHidden": bool(row["is_hidden"]),
        }
        if not selected:
            return everything
        return {name: value for name, value in everything.items() if name == "id" or name.lower() in selected}

    # Messages

    def list_messages(self, call: Call, target: Target, folder: str | None = None) -> Reply:
        check_options(call, _LIST_OPTIONS)
        conditions = parse_filter(call.query_value("$filter"))
        order = parse_orderby(call.query_value("$orderby"))
        self._refuse_inefficient(conditions, order)
        top = parse_count(call.query_value("$top"), "$top", most=_LARGEST_PAGE) or _DEFAULT_PAGE
        skip = parse_count(call.query_value("$skip"), "$skip", most=10**9) or 0
        folder_id = self.folder_row(target, folder)["folder_id"] if folder else None
        # What SQL cannot judge is judged on the finished item, before it is counted towards a page.
        others = [condition for condition in conditions if condition.member not in _TIMES]
        is_cut_later = bool(others) or self.item_faults.hides_messages(target.user.address)
        rows = self._select_messages(target, folder_id, conditions, order, limit=-1 if is_cut_later else skip + top + 1)
        rows = [row for row in rows if self.item_faults.is_listed(target.user.address, row)]
        if others:
            rows = [row for row in rows if all(one.is_met(self._build_item(row, call, target, ())) for one in others)]
        selected = check_selected(split_list(call.query_value("$select")))
        expand = call.query_value("$expand")
        self.item_faults.refuse_page("list", target.user.address, rows[skip : skip + top])
        value = [self._build_expanded_item(row, call, target, selected, expand) for row in rows[skip : skip + top]]
        path = f"users('{target.user.user_id}')/" + (f"mailFolders('{folder_id}')/messages" if folder else "messages")
        body: dict[str, object] = {"@odata.context": f"{call.base_url}/v1.0/$metadata#{path}", "value": value}
        if len(rows) > skip + top:
            kept = {name: values[0] for name, values in call.query.items() if name.startswith("$")}
            plain = f"users/{target.user.user_id}/" + (f"mailFolders/{folder_id}/messages" if folder else "messages")
            body["@odata.nextLink"] = build_link(
                call.base_url, plain, {**kept, "$top": str(top), "$skip": str(skip + top)}
            )
        return self._with_preference(call, Reply(200, body))

    def get_message(self, call: Call, target: Target, message_id: str) -> Reply:
        row = self._readable_row(target, message_id)
        selected = check_selected(split_list(call.query_value("$select")))
        item = self._build_expanded_item(row, call, target, selected, call.query_value("$expand"))
        context = f"{call.base_url}/v1.0/$metadata#users('{target.user.user_id}')/messages/$entity"
        return self._with_preference(call, Reply(200, {"@odata.context": context, **item}))

    def reply_with_source(self, target: Target, message_id: str) -> Reply:
        self._refuse_basic(target)
        return Reply(200, self.read_source(self._readable_row(target, message_id)), media_type="text/plain")

    def message_row(self, target: Target, message_id: str) -> sqlite3.Row:
        row = self._store.select_row(
            "select * from graph_message where user_id = ? and (rest_id = ? or immutable_id = ?)",
            target.user.user_id,
            message_id,
            message_id,
        )
        if row is None:
            raise self._errors.item_not_found()
        return row

    def _readable_row(self, target: Target, message_id: str) -> sqlite3.Row:
        """For each call that names a message: a fault may keep it from being read."""
        row = self.message_row(target, message_id)
        self.item_faults.refuse_message(target.user.address, row)
        return row

    def _describe_item(self, row: sqlite3.Row) -> DescribedItem:
        subject = mime.parse_mail(self.read_source(row)).read_header("subject")
        return DescribedItem((row["rest_id"], row["immutable_id"], subject or ""), row["created_ms"])

    def read_source(self, row: sqlite3.Row) -> bytes:
        found = self._store.select_row("select source from mime where sha256 = ?", row["mime_sha256"])
        if found is None:
            raise self._errors.item_not_found()
        return bytes(found["source"])

    def delta_item(
        self, row: sqlite3.Row, call: Call, target: Target, selected: Sequence[str], expand: str | None
    ) -> dict[str, object]:
        return {
            "@odata.type": "#microsoft.graph.message",
            **self._build_expanded_item(row, call, target, selected, expand),
        }

    # Attachments

    def list_attachments(self, call: Call, target: Target, message_id: str) -> Reply:
        self._refuse_basic(target)
        row = self._readable_row(target, message_id)
        selected = split_list(call.query_value("$select"))
        expanded = parse_expand(call.query_value("$expand"))
        check_attachment_members(selected)
        path = f"users('{target.user.user_id}')/messages('{message_id}')/attachments"
        value = [self._build_attachment_item(one, selected, expanded) for one in self._list_attachments(row, call)]
        return Reply(200, {"@odata.context": f"{call.base_url}/v1.0/$metadata#{path}", "value": value})

    def get_attachment(self, call: Call, target: Target, message_id: str, attachment_id: str) -> Reply:
        row, found = self._find_attachment(target, message_id, attachment_id)
        selected = split_list(call.query_value("$select"))
        check_attachment_members(selected)
        path = f"users('{target.user.user_id}')/messages('{message_id}')/attachments/$entity"
        item = self._build_attachment_item(found, selected, parse_expand(call.query_value("$expand")))
        reply = Reply(200, {"@odata.context": f"{call.base_url}/v1.0/$metadata#{path}", **item})
        return self.item_faults.shape_part(target.user.address, row, found.name, reply)

    def attachment_bytes(self, target: Target, message_id: str, attachment_id: str) -> Reply:
        row, found = self._find_attachment(target, message_id, attachment_id)
        media_type = "text/plain" if found.is_item else found.part.content_type
        reply = Reply(200, found.part.content, media_type=media_type)
        return self.item_faults.shape_part(target.user.address, row, found.name, reply)

    def _find_attachment(self, target: Target, message_id: str, attachment_id: str) -> tuple[sqlite3.Row, Attachment]:
        self._refuse_basic(target)
        row = self._readable_row(target, message_id)
        # Links work with both id formats, whatever this request prefers.
        for immutable in (True, False):
            for one in stored_attachments(row, self.read_source(row), immutable=immutable):
                if one.attachment_id == attachment_id:
                    return row, one
        raise self._errors.item_not_found()

    def _list_attachments(self, row: sqlite3.Row, call: Call) -> tuple[Attachment, ...]:
        return stored_attachments(row, self.read_source(row), immutable=wants_immutable(call))

    def _build_attachment_item(
        self, one: Attachment, selected: Sequence[str], expanded: dict[str, list[str]]
    ) -> dict[str, object]:
        shows_item = one.is_item and "microsoft.graph.itemattachment/item" in expanded
        return build_attachment_json(one, selected, item=build_nested_json(one.part.content) if shows_item else None)

    # Shared

    def _select_messages(
        self,
        target: Target,
        folder_id: str | None,
        conditions: list[Condition],
        order: list[tuple[str, bool]],
        limit: int,
    ) -> list[sqlite3.Row]:
        where, values = ["user_id = ?"], [target.user.user_id]
        if folder_id:
            where.append("folder_id = ?")
            values.append(folder_id)
        for condition in conditions:
            if column := _TIMES.get(condition.member):
                if not isinstance(condition.value, int):
                    raise BadQuery(f"'{condition.member}' must be compared with a time.")
                where.append(f"{column} {condition.sql_operator} {condition.value:d}")
        ordered = [(_TIMES.get(member), descending) for member, descending in order] or [("received_ms", True)]
        if any(column is None for column, _ in ordered):
            raise BadQuery("The property in $orderby is not supported.")
        by = ", ".join(f"{column} {'desc' if descending else 'asc'}" for column, descending in ordered)
        direction = "desc" if ordered[0][1] else "asc"
        statement = f"select * from graph_message where {' and '.join(where)} order by {by}, pk {direction} limit ?"  # noqa: S608
        return self._store.select_rows(statement, *values, limit)

    def _build_expanded_item(
        self, row: sqlite3.Row, call: Call, target: Target, selected: Sequence[str], expand: str | None
    ) -> dict[str, object]:
        item = self._build_item(row, call, target, selected)
        expanded = parse_expand(expand)
        if "attachments" in expanded:
            self._refuse_basic(target)
            check_attachment_members(expanded["attachments"])
            path = f"users('{target.user.user_id}')/messages('{item['id']}')/attachments"
            item["attachments@odata.context"] = f"{call.base_url}/v1.0/$metadata#{path}"
            item["attachments"] = [
                build_attachment_json(one, expanded["attachments"]) for one in self._list_attachments(row, call)
            ]
        return item

    def _build_item(self, row: sqlite3.Row, call: Call, target: Target, selected: Sequence[str]) -> dict[str, object]:
        return build_message_json(
            row,
            self.read_source(row),
            immutable=wants_immutable(call),
            selected=selected,
            text_body=call.read_preferences().get("outlook.body-content-type") == "text",
            basic=target.basic,
        )

    def _refuse_inefficient(self, conditions: list[Condition], order: list[tuple[str, bool]]) -> None:
        """What is ordered must stand in the filter too, in the same order and before anything else."""
        if conditions and order:
            filtered = list(dict.fromkeys(condition.member for condition in conditions))
            if filtered[: len(order)] != [member for member, _ in order]:
                text = "The restriction or sort order is too complex for this operation."
                raise self._errors.refuse_call(400, "InefficientFilter", text)

    def _refuse_basic(self, target: Target) -> None:
        if target.basic:
            raise self._errors.access_denied()

    def _with_preference(self, call: Call, reply: Reply) -> Reply:
        if call.read_preferences().get("outlook.body-content-type") == "text":
            return reply.with_headers(Preference_Applied='outlook.body-content-type="text"')
        return reply

"""What happens in a Microsoft mailbox: mail comes, moves, goes, each with its trace for delta and its notification."""

import hashlib
import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from mailroom_sandbox.provider_doubles.microsoft.directory import Directory, User, generate_id
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import to_ms


class MessageChangeAnnouncer(Protocol):
    def announce_change(self, change_type: str, message: sqlite3.Row, folder_id: str) -> None: ...

    def announce_move(self, before: sqlite3.Row, after: sqlite3.Row) -> None: ...


class GraphMailboxes:
    def __init__(
        self, store: Store, now: Callable[[], datetime], directory: Directory, announces: MessageChangeAnnouncer
    ) -> None:
        self._store = store
        self._now = now
        self._directory = directory
        self._announces = announces

    def find_or_create_mailbox(self, address: str, display_name: str | None = None) -> User:
        return self._directory.find_or_create_mailbox(address, display_name)

    def deliver_mail(self, address: str, source: bytes, *, folder: str | None, received_at: datetime | None) -> str:
        """Puts one mail into the mailbox and returns its immutable id. One that came earlier was not changed since."""
        user = self._require_user(address)
        received_ms = to_ms(received_at or self._now())
        sha256 = hashlib.sha256(source).hexdigest()
        with self._store.transaction():
            folder_id = self._directory.find_or_create_folder(user.user_id, folder or "inbox")
            well_known = self._read_well_known_name(folder_id)
            self._store.execute_sql("insert or ignore into mime values (?, ?)", sha256, source)
            pk = self._store.insert_row(
                "insert into graph_message (user_id, folder_id, mime_sha256, rest_id, immutable_id, change_key,"
                " received_ms, created_ms, modified_ms, is_read, is_draft) values (?,?,?,?,?,?,?,?,?,?,?)",
                user.user_id,
                folder_id,
                sha256,
                generate_id("AAMkAD", 83),
                generate_id("AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A", 35),
                _generate_change_key(),
                received_ms,
                received_ms,
                received_ms,
                int(well_known in ("sentitems", "drafts")),
                int(well_known == "drafts"),
            )
            message = self._read_message(pk)
            self._record_change(message, "created", folder_id)
            self._announces.announce_change("created", message, folder_id)
        return str(message["immutable_id"])

    def move_message(self, address: str, message_id: str, folder: str) -> str:
        """The default id changes, the immutable one stays: it is returned."""
        before = self.find_message(self._require_user(address), message_id)
        with self._store.transaction():
            target = self._directory.find_or_create_folder(before["user_id"], folder)
            if target == before["folder_id"]:
                return str(before["immutable_id"])
            self._store.execute_sql(
                "update graph_message set folder_id = ?, rest_id = ?, change_key = ?, modified_ms = ? where pk = ?",
                target,
                generate_id("AAMkAD", 83),
                _generate_change_key(),
                to_ms(self._now()),
                before["pk"],
            )
            after = self._read_message(before["pk"])
            self._record_change(before, "removed", before["folder_id"])
            self._record_change(after, "created", target)
            self._announces.announce_move(before, after)
        return str(after["immutable_id"])

    def mark_read(self, address: str, message_id: str, *, is_read: bool) -> None:
        self._set_mark(address, message_id, "is_read", int(is_read))

    def set_flag(self, address: str, message_id: str, flag: str) -> None:
        """`flag` is Graph's flagStatus: notFlagged, flagged or complete."""
        self._set_mark(address, message_id, "flag_status", flag)

    def _set_mark(self, address: str, message_id: str, column: str, value: object) -> None:
        before = self.find_message(self._require_user(address), message_id)
        with self._store.transaction():
            self._store.execute_sql(
                f"update graph_message set {column} = ?, change_key = ?, modified_ms = ? where pk = ?",  # noqa: S608 - a column of ours
                value,
                _generate_change_key(),
                to_ms(self._now()),
                before["pk"],
            )
            after = self._read_message(before["pk"])
            self._record_change(after, "updated", after["folder_id"])
            self._announces.announce_change("updated", after, after["folder_id"])

    def delete_message(self, address: str, message_id: str) -> None:
        message = self.find_message(self._require_user(address), message_id)
        with self._store.transaction():
            self._store.execute_sql("delete from graph_message where pk = ?", message["pk"])
            self._record_change(message, "removed", message["folder_id"])
            self._announces.announce_change("deleted", message, message["folder_id"])

    def has_folder(self, address: str, folder: str) -> bool:
        return self._directory.find_folder_by_path(self._require_user(address).user_id, folder) is not None

    def find_or_create_folder(self, address: str, folder: str) -> str:
        """Makes what is missing of the path, and returns the id of its last folder."""
        return self._directory.find_or_create_folder(self._require_user(address).user_id, folder)

    def remove_folder(self, address: str, folder: str) -> None:
        """Deletes a folder of the user's own for good, with its messages; folders below it must be gone first."""
        user = self._require_user(address)
        row = self._directory.find_folder_by_path(user.user_id, folder)
        if row is None or row["well_known"] is not None:
            raise LookupError(f"no folder {folder} of the user's own")
        if self._directory.list_folders(user.user_id, row["folder_id"], hidden_too=True):
            raise LookupError(f"{folder} has folders below it")
        with self._store.transaction():
            for message in self._store.select_rows(
                "select immutable_id from graph_message where folder_id = ?", row["folder_id"]
            ):
                self.delete_message(address, message["immutable_id"])
            self._directory.delete_folder(user.user_id, row["folder_id"])

    def list_contents(self, address: str) -> list[dict[str, object]]:
        rows = self._store.select_rows(
            "select m.immutable_id as message_id, f.display_name as folder, m.received_ms, m.mime_sha256"
            " from graph_message m join folder f using (folder_id) where m.user_id = ? order by m.pk",
            self._require_user(address).user_id,
        )
        return [dict(row) for row in rows]

    def refuse_cursors(self, address: str) -> None:
        """Drops what the service remembers of all rounds: every token given out until now is refused for good."""
        self._store.execute_sql(
            "update mailbox set sync_generation = sync_generation + 1 where user_id = ?",
            self._require_user(address).user_id,
        )

    def find_message(self, user: User, message_id: str) -> sqlite3.Row:
        row = self._store.select_row(
            "select * from graph_message where user_id = ? and (rest_id = ? or immutable_id = ?)",
            user.user_id,
            message_id,
            message_id,
        )
        if row is None:
            raise LookupError("no such message")
        return row

    def _require_user(self, address: str) -> User:
        user = self._directory.find_user(address)
        if user is None:
            raise LookupError(f"no mailbox {address}")
        return user

    def _read_well_known_name(self, folder_id: str) -> str | None:
        row = self._store.select_row("select well_known from folder where folder_id = ?", folder_id)
        return row["well_known"] if row else None

    def _read_message(self, pk: int) -> sqlite3.Row:
        row = self._store.select_row("select * from graph_message where pk = ?", pk)
        if row is None:
            raise LookupError("the message has just gone")
        return row

    def _record_change(self, message: sqlite3.Row, kind: str, folder_id: str) -> None:
        self._store.execute_sql(
            "insert into graph_change (user_id, folder_id, message_pk, kind, rest_id, immutable_id, at_ms)"
            " values (?,?,?,?,?,?,?)",
            message["user_id"],
            folder_id,
            message["pk"],
            kind,
            message["rest_id"],
            message["immutable_id"],
            to_ms(self._now()),
        )


def _generate_change_key() -> str:
    return generate_id("CQAAABYAAAC", 18)

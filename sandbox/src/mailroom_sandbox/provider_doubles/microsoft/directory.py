"""Users, tenants and folders of the Microsoft side."""

import base64
import secrets
import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import to_ms

PROVIDER = "outlook"

ROOT = "msgfolderroot"
# Graph's name, the name a person sees, whether it is hidden, and the parent.
_FOLDERS = (
    (ROOT, "Top of Information Store", False, None),
    ("archive", "Archive", False, ROOT),
    ("conversationhistory", "Conversation History", False, ROOT),
    ("deleteditems", "Deleted Items", False, ROOT),
    ("drafts", "Drafts", False, ROOT),
    ("inbox", "Inbox", False, ROOT),
    ("junkemail", "Junk Email", False, ROOT),
    ("outbox", "Outbox", False, ROOT),
    ("sentitems", "Sent Items", False, ROOT),
    ("syncissues", "Sync Issues", True, ROOT),
    ("conflicts", "Conflicts", True, "syncissues"),
)


@dataclass(frozen=True, slots=True)
class User:
    user_id: str
    address: str
    display_name: str
    tenant_id: str
    disabled: str | None


def derive_tenant_id(domain: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"tenant.{domain.lower()}"))


def generate_id(prefix: str, size_bytes: int) -> str:
    """Shaped as Exchange writes them: long, case-sensitive, and with a `=` at the end."""
    return f"{prefix}{base64.urlsafe_b64encode(secrets.token_bytes(size_bytes)).decode()}"


class Directory:
    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def find_or_create_mailbox(self, address: str, display_name: str | None = None) -> User:
        """The mailbox with its standard folders; an existing one is returned as it is."""
        if existing := self.find_user(address):
            return existing
        domain = address.rpartition("@")[2]
        user_id = str(uuid.uuid5(uuid.NAMESPACE_DNS, f"user.{address.lower()}"))
        with self._store.transaction():
            self._store.execute_sql(
                "insert into mailbox (provider, address, user_id, tenant_id, display_name) values (?,?,?,?,?)",
                PROVIDER,
                address,
                user_id,
                derive_tenant_id(domain),
                display_name or address.partition("@")[0].replace(".", " ").title(),
            )
            ids: dict[str, str] = {}
            for well_known, name, hidden, parent in _FOLDERS:
                ids[well_known] = self._insert_folder(
                    user_id, ids.get(parent) if parent else None, name, well_known=well_known, hidden=hidden
                )
        return self._require_user(address)

    def find_user(self, key: str) -> User | None:
        """By GUID or address."""
        row = self._store.select_row(
            "select * from mailbox where provider = ? and (user_id = ? or address = ?)", PROVIDER, key, key
        )
        return _parse_user(row) if row else None

    def list_users(self, tenant_id: str | None = None) -> list[User]:
        rows = self._store.select_rows(
            "select * from mailbox where provider = ? and tenant_id = coalesce(?, tenant_id) order by address",
            PROVIDER,
            tenant_id,
        )
        return [_parse_user(row) for row in rows]

    def find_tenant(self, name: str) -> str | None:
        """The tenant's GUID for its GUID or one of its domains; None when there is no such directory."""
        known = {user.tenant_id for user in self.list_users()}
        candidate = name if name in known else derive_tenant_id(name)
        return candidate if candidate in known else None

    def folder(self, user_id: str, key: str) -> sqlite3.Row | None:
        """By id, or by well-known name in any case."""
        return self._store.select_row(
            "select * from folder where user_id = ? and (folder_id = ? or well_known = ?)", user_id, key, key.lower()
        )

    def list_folders(self, user_id: str, parent_id: str | None, *, hidden_too: bool) -> list[sqlite3.Row]:
        """Those below one folder; with no parent, all of the mailbox."""
        return self._store.select_rows(
            "select * from folder where user_id = ? and (? is null or parent_id = ?) and is_hidden <= ?"
            " and parent_id is not null order by display_name, folder_id",
            user_id,
            parent_id,
            parent_id,
            int(hidden_too),
        )

    def find_or_create_folder(self, user_id: str, path: str) -> str:
        """The id for a well-known name or a path from the root (`Inbox/Invoices`); makes what is missing."""
        if known := self.folder(user_id, path):
            return str(known["folder_id"])
        root = self.folder(user_id, ROOT)
        if root is None:
            raise LookupError("the mailbox has no root folder")
        parent = str(root["folder_id"])
        for name in filter(None, path.split("/")):
            row = self._store.select_row(
                "select folder_id from folder where parent_id = ? and display_name = ? collate nocase", parent, name
            )
            parent = str(row["folder_id"]) if row else self._insert_folder(user_id, parent, name)
        return parent

    def find_folder_by_path(self, user_id: str, path: str) -> sqlite3.Row | None:
        """As `folder_by_path`, but makes nothing."""
        if known := self.folder(user_id, path):
            return known
        found = self.folder(user_id, ROOT)
        for name in filter(None, path.split("/")):
            if found is None:
                return None
            found = self._store.select_row(
                "select * from folder where parent_id = ? and display_name = ? collate nocase",
                found["folder_id"],
                name,
            )
        return found

    def delete_folder(self, user_id: str, folder_id: str) -> None:
        self._store.execute_sql("delete from folder where folder_id = ?", folder_id)
        self._trace_folder(user_id, folder_id)

    def _insert_folder(
        self, user_id: str, parent_id: str | None, name: str, *, well_known: str | None = None, hidden: bool = False
    ) -> str:
        folder_id = generate_id("AAMkAD", 65) if well_known is None else generate_id("AQMkAD", 38)
        self._store.execute_sql(
            "insert into folder values (?,?,?,?,?,?)", folder_id, user_id, parent_id, name, well_known, int(hidden)
        )
        self._trace_folder(user_id, folder_id)
        return folder_id

    def _trace_folder(self, user_id: str, folder_id: str) -> None:
        self._store.execute_sql(
            "insert into folder_change (user_id, folder_id, at_ms) values (?,?,?)",
            user_id,
            folder_id,
            to_ms(self._now()),
        )

    def _require_user(self, address: str) -> User:
        user = self.find_user(address)
        if user is None:
            raise LookupError(f"no mailbox {address}")
        return user


def _parse_user(row: sqlite3.Row) -> User:
    return User(row["user_id"], row["address"], row["display_name"], row["tenant_id"], row["disabled"])

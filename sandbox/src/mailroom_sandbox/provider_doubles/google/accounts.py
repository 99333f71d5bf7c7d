"""Google accounts and their mailboxes: labels, messages, and the history that every change is written to."""

import hashlib
import random
import secrets
import sqlite3
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import orjson

from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import to_ms

PROVIDER = "gmail"
SYSTEM_LABELS = ("CHAT", "DRAFT", "IMPORTANT", "INBOX", "SENT", "SPAM", "STARRED", "TRASH", "UNREAD")
# What a person, or the control API, calls the places of a mailbox.
_FOLDERS = {
    "inbox": "INBOX",
    "junkemail": "SPAM",
    "spam": "SPAM",
    "deleteditems": "TRASH",
    "trash": "TRASH",
    "sentitems": "SENT",
    "sent": "SENT",
    "drafts": "DRAFT",
    "archive": "",
}
_PLACES = frozenset({"INBOX", "SPAM", "TRASH", "SENT", "DRAFT"})


@dataclass(frozen=True, slots=True)
class GoogleAccount:
    user_id: str
    address: str
    display_name: str
    domain: str
    history_id: int
    oldest_history_id: int
    disabled: str | None


class LabelChangeAnnouncer(Protocol):
    def announce_change(self, account: GoogleAccount, labels: frozenset[str]) -> None: ...


class GmailMailboxes:
    def __init__(self, store: Store, now: Callable[[], datetime], announces: LabelChangeAnnouncer) -> None:
        self._store = store
        self._now = now
        self._announces = announces

    def find_or_create_mailbox(self, address: str, display_name: str | None = None) -> GoogleAccount:
        if existing := self.find_account(address):
            return existing
        number = uuid.uuid5(uuid.NAMESPACE_DNS, f"account.{address.lower()}").int % 10**20
        self._store.execute_sql(
            "insert into mailbox (provider, address, user_id, tenant_id, display_name) values (?,?,?,?,?)",
            PROVIDER,
            address,
            f"1{number:020d}",
            address.rpartition("@")[2].lower(),
            display_name or address.partition("@")[0].replace(".", " ").title(),
        )
        return self.require_account(address)

    def find_account(self, key: str) -> GoogleAccount | None:
        """By address or by account number."""
        row = self._store.select_row(
            "select * from mailbox where provider = ? and (user_id = ? or address = ?)", PROVIDER, key, key
        )
        return _parse_account(row) if row else None

    def list_accounts(self) -> list[GoogleAccount]:
        rows = self._store.select_rows("select * from mailbox where provider = ? order by address", PROVIDER)
        return [_parse_account(row) for row in rows]

    def require_account(self, key: str) -> GoogleAccount:
        account = self.find_account(key)
        if account is None:
            raise LookupError(f"no mailbox {key}")
        return account

    def deliver_mail(self, address: str, source: bytes, *, folder: str | None, received_at: datetime | None) -> str:
        """Puts one mail into the mailbox and returns its id."""
        account = self.require_account(address)
        sha256 = hashlib.sha256(source).hexdigest()
        label = self._find_or_create_label(account, folder or "inbox")
        labels = {label} - {""}
        if label not in ("SENT", "DRAFT"):
            labels.add("UNREAD")
        message_id = f"19{secrets.token_hex(7)}"
        with self._store.transaction():
            self._store.execute_sql("insert or ignore into mime values (?, ?)", sha256, source)
            thread_id = self._find_thread(account, source) or message_id
            self._store.execute_sql(
                "insert into gmail_message (user_id, mime_sha256, message_id, thread_id, labels, history_id,"
                " internal_ms) values (?,?,?,?,?,0,?)",
                account.user_id,
                sha256,
                message_id,
                thread_id,
                _join_labels(labels),
                to_ms(received_at or self._now()),
            )
            self._record_change(account, self.read_message(account, message_id), "messageAdded", labels, labels)
        return message_id

    def move_message(self, address: str, message_id: str, folder: str) -> str:
        """Takes the message out of the place where it is and puts it into another; the id stays."""
        account = self.require_account(address)
        before = split_labels(self.read_message(account, message_id)["labels"])
        target = self._find_or_create_label(account, folder)
        self.change_labels(address, message_id, add={target} - {""}, remove=(before & _PLACES) - {target})
        return message_id

    def mark_read(self, address: str, message_id: str, *, is_read: bool) -> None:
        unread = {"UNREAD"}
        self.change_labels(address, message_id, add=set() if is_read else unread, remove=unread if is_read else set())

    def set_flag(self, address: str, message_id: str, flag: str) -> None:
        """Gmail knows a star or none: what is complete has none any more."""
        star, is_flagged = {"STARRED"}, flag == "flagged"
        self.change_labels(address, message_id, add=star if is_flagged else set(), remove=set() if is_flagged else star)

    def change_labels(self, address: str, message_id: str, *, add: set[str], remove: set[str]) -> None:
        """Each real change is a record of its own in the history."""
        account = self.require_account(address)
        with self._store.transaction():
            for kind, wanted in (("labelRemoved", remove), ("labelAdded", add)):
                message = self.read_message(account, message_id)
                labels = split_labels(message["labels"])
                changed = wanted & labels if kind == "labelRemoved" else wanted - labels
                if not changed:
                    continue
                after = labels - changed if kind == "labelRemoved" else labels | changed
                self._store.execute_sql(
                    "update gmail_message set labels = ? where message_id = ?", _join_labels(after), message_id
                )
                self._record_change(account, message, kind, changed, after)

    def delete_message(self, address: str, message_id: str) -> None:
        """For good; moving to the trash is `move`."""
        account = self.require_account(address)
        with self._store.transaction():
            message = self.read_message(account, message_id)
            labels = split_labels(message["labels"])
            self._store.execute_sql("delete from gmail_message where message_id = ?", message_id)
            self._record_change(account, message, "messageDeleted", labels, labels)

    def has_folder(self, address: str, folder: str) -> bool:
        account = self.require_account(address)
        if folder.lower() in _FOLDERS or folder.upper() in SYSTEM_LABELS:
            return True
        select = "select label_id from label where user_id = ? and name = ?"
        return self._store.select_row(select, account.user_id, folder) is not None

    def find_or_create_folder(self, address: str, folder: str) -> str:
        """Makes a label of the user's own, or finds it, and returns its id."""
        return self._find_or_create_label(self.require_account(address), folder)

    def remove_folder(self, address: str, folder: str) -> None:
        """Deletes a label of the user's own; as at Google its messages stay, without it."""
        account = self.require_account(address)
        row = self._store.select_row(
            "select label_id from label where user_id = ? and name = ?", account.user_id, folder
        )
        if row is None:
            raise LookupError(f"no label {folder}")
        label_id = str(row["label_id"])
        with self._store.transaction():
            for message in self._store.select_rows(
                "select message_id, labels from gmail_message where user_id = ?", account.user_id
            ):
                if label_id in split_labels(message["labels"]):
                    self.change_labels(address, message["message_id"], add=set(), remove={label_id})
            self._store.execute_sql("delete from label where user_id = ? and label_id = ?", account.user_id, label_id)

    def list_contents(self, address: str) -> list[dict[str, object]]:
        rows = self._store.select_rows(
            "select message_id, labels as folder, internal_ms as received_ms, mime_sha256 from gmail_message"
            " where user_id = ? order by pk",
            self.require_account(address).user_id,
        )
        return [dict(row) for row in rows]

    def refuse_cursors(self, address: str) -> None:
        """Forgets the history until now: every start before is answered 404."""
        self._store.execute_sql(
            "update mailbox set oldest_history_id = history_id + 1, history_id = history_id + 2"
            " where provider = ? and user_id = ?",
            PROVIDER,
            self.require_account(address).user_id,
        )

    def read_message(self, account: GoogleAccount, message_id: str) -> sqlite3.Row:
        row = self._store.select_row(
            "select * from gmail_message where user_id = ? and message_id = ?", account.user_id, message_id
        )
        if row is None:
            raise LookupError("no such message")
        return row

    def _record_change(
        self, account: GoogleAccount, message: sqlite3.Row, kind: str, changed: Iterable[str], after: Iterable[str]
    ) -> None:
        # Ids rise with random gaps: nobody may count on the next one.
        history_id = self._store.select_number(
            "select history_id from mailbox where provider = ? and user_id = ?", PROVIDER, account.user_id
        ) + random.randint(1, 40)  # noqa: S311
        self._store.execute_sql(
            "update mailbox set history_id = ? where provider = ? and user_id = ?",
            history_id,
            PROVIDER,
            account.user_id,
        )
        self._store.execute_sql(
            "update gmail_message set history_id = ? where message_id = ?", history_id, message["message_id"]
        )
        self._store.execute_sql(
            "insert into history values (?,?,?,?,?,?,?,?)",
            account.user_id,
            history_id,
            kind,
            message["message_id"],
            message["thread_id"],
            _join_labels(changed),
            _join_labels(after),
            to_ms(self._now()),
        )
        self._announces.announce_change(self.require_account(account.user_id), frozenset(after) | frozenset(changed))

    def _find_or_create_label(self, account: GoogleAccount, folder: str) -> str:
        """A system label, or a user's own, made when it is new; empty for the archive."""
        if folder.lower() in _FOLDERS:
            return _FOLDERS[folder.lower()]
        if folder.upper() in SYSTEM_LABELS:
            return folder.upper()
        row = self._store.select_row(
            "select label_id from label where user_id = ? and name = ?", account.user_id, folder
        )
        if row:
            return str(row["label_id"])
        # One more than the highest, not than the count: the id of a deleted label may not name one that still lives.
        highest = self._store.select_number(
            "select max(cast(substr(label_id, 7) as integer)) from label where user_id = ?", account.user_id
        )
        label_id = f"Label_{highest + 1}"
        self._store.execute_sql("insert into label values (?,?,?)", account.user_id, label_id, folder)
        return label_id

    def _find_thread(self, account: GoogleAccount, source: bytes) -> str | None:
        """The thread of a mail that this one answers and that is here already."""
        root = mime.parse_mail(source)
        named = f"{root.read_header('references') or ''} {root.read_header('in-reply-to') or ''}".split()
        if not named:
            return None
        for row in self._store.select_rows(
            "select m.thread_id, x.source from gmail_message m join mime x on x.sha256 = m.mime_sha256"
            " where m.user_id = ? order by m.pk desc limit 200",
            account.user_id,
        ):
            if mime.parse_mail(bytes(row["source"])).read_header("message-id") in named:
                return str(row["thread_id"])
        return None


def split_labels(joined: str) -> set[str]:
    return set(orjson.loads(joined))


def _join_labels(labels: Iterable[str]) -> str:
    return orjson.dumps(sorted(labels)).decode()


def _parse_account(row: sqlite3.Row) -> GoogleAccount:
    return GoogleAccount(
        row["user_id"],
        row["address"],
        row["display_name"],
        row["tenant_id"],
        row["history_id"],
        row["oldest_history_id"],
        row["disabled"],
    )

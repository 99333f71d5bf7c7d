"""Whatever happens in a Gmail mailbox, a client that applies the history knows every message and its labels."""

import asyncio
import tempfile
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from mailroom_sandbox.provider_doubles.google.app import Google
from mailroom_sandbox.provider_doubles.provider_state import ProviderState, build_provider_state
from mailroom_sandbox.provider_doubles.tokens import Holder
from mailroom_sandbox.provider_doubles.wire import Call
from mailroom_sandbox.testkit.running_providers import load_settings

STATE: list[tuple[ProviderState, Google]] = []
READONLY = frozenset({"https://www.googleapis.com/auth/gmail.readonly"})
PLACES = ("INBOX", "SPAM", "TRASH", "archive", "Bills")


def sandbox() -> tuple[ProviderState, Google]:
    if not STATE:
        state = build_provider_state(load_settings(Path(tempfile.mkdtemp(prefix="history-"))))
        STATE.append((state, Google(state)))
    return STATE[0]


class HistoryRecords(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.state, google = sandbox()
        self.gmail, self.mailboxes = google.gmail, google.mailboxes
        self.address = f"{uuid.uuid4().hex}@mail.example"
        account = self.mailboxes.find_or_create_mailbox(self.address)
        self.token = uuid.uuid4().hex
        holder = Holder("gmail", account.user_id, account.domain, "app", READONLY, "grant")
        self.state.tokens.store_token("access", self.token, holder, timedelta(hours=1))
        self.history_id = self.ask("profile")["historyId"]
        self.ids: list[str] = []
        self.known: dict[str, frozenset[str]] = {}

    def ask(self, path: str, **query: str) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {self.token}"}
        asked = {name: (value,) for name, value in query.items()}
        call = Call("GET", f"/gmail/v1/users/me/{path}", asked, headers, b"", "https://gmail.example")
        reply = asyncio.run(self.gmail.answer_call(call))
        assert reply.status == 200, reply.body
        assert isinstance(reply.body, dict)
        return reply.body

    @rule(folder=st.sampled_from(PLACES))
    def deliver(self, folder: str) -> None:
        source = f"Subject: {len(self.ids)}\r\n\r\nx".encode()
        self.ids.append(self.mailboxes.deliver_mail(self.address, source, folder=folder, received_at=None))

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), folder=st.sampled_from(PLACES))
    def move(self, data: st.DataObject, folder: str) -> None:
        message_id = data.draw(st.sampled_from(self.ids))
        assert self.mailboxes.move_message(self.address, message_id, folder) == message_id

    @precondition(lambda self: self.ids)
    @rule(data=st.data(), is_read=st.booleans())
    def mark(self, data: st.DataObject, is_read: bool) -> None:
        self.mailboxes.mark_read(self.address, data.draw(st.sampled_from(self.ids)), is_read=is_read)

    @precondition(lambda self: self.ids)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        message_id = data.draw(st.sampled_from(self.ids))
        self.mailboxes.delete_message(self.address, message_id)
        self.ids.remove(message_id)

    @rule(size=st.integers(1, 3))
    def catch_up(self, size: int) -> None:
        query = {"startHistoryId": self.history_id, "maxResults": str(size)}
        last = int(self.history_id)
        while True:
            page = self.ask("history", **query)
            for record in page.get("history", ()):
                assert int(record["id"]) > last
                last = int(record["id"])
                self.apply(record)
            if "nextPageToken" not in page:
                break
            query["pageToken"] = page["nextPageToken"]
        assert int(page["historyId"]) >= last
        self.history_id = page["historyId"]
        assert self.known == {
            message_id: frozenset(self.ask(f"messages/{message_id}", format="minimal").get("labelIds", ()))
            for message_id in self.ids
        }

    def apply(self, record: dict[str, Any]) -> None:
        for change in record.get("messagesAdded", ()):
            self.known[change["message"]["id"]] = frozenset(change["message"].get("labelIds", ()))
        for change in record.get("labelsAdded", ()):
            self.known[change["message"]["id"]] |= frozenset(change["labelIds"])
        for change in record.get("labelsRemoved", ()):
            self.known[change["message"]["id"]] -= frozenset(change["labelIds"])
        for change in record.get("messagesDeleted", ()):
            del self.known[change["message"]["id"]]


TestHistoryRecords = HistoryRecords.TestCase
TestHistoryRecords.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)

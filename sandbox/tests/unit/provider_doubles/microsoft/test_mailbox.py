"""Whatever happens in a folder, a client that follows delta to the end of a round knows what is in it.

Changes may come between any two pages. The model is a client as simple as can be: it puts in what is shown, takes out
what is removed, and begins anew from nothing when it is told to.
"""

import asyncio
import tempfile
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mailroom_sandbox.provider_doubles.microsoft.app import Microsoft
from mailroom_sandbox.provider_doubles.provider_state import ProviderState, build_provider_state
from mailroom_sandbox.provider_doubles.tokens import Holder
from mailroom_sandbox.provider_doubles.wire import Call
from mailroom_sandbox.testkit.running_providers import load_settings

FOLDERS = ("inbox", "archive")
STATE: list[tuple[ProviderState, Microsoft]] = []


def sandbox() -> tuple[ProviderState, Microsoft]:
    """One for all examples, each of which has a mailbox of its own in it."""
    if not STATE:
        folder = Path(tempfile.mkdtemp(prefix="delta-"))
        state = build_provider_state(load_settings(folder))
        STATE.append((state, Microsoft(state)))
    return STATE[0]


class DeltaRounds(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.state, microsoft = sandbox()
        self.graph, self.mailboxes = microsoft.graph, microsoft.mailboxes
        self.address = f"{uuid.uuid4().hex}@company.example"
        user = self.mailboxes.find_or_create_mailbox(self.address)
        self.token = uuid.uuid4().hex
        holder = Holder("outlook", user.user_id, user.tenant_id, "app", frozenset({"Mail.Read"}), "grant")
        self.state.tokens.store_token("access", self.token, holder, timedelta(hours=1))
        self.there: dict[str, str] = {}
        self.known: dict[str, set[str]] = {folder: set() for folder in FOLDERS}
        self.link: dict[str, str | None] = dict.fromkeys(FOLDERS)

    def ask(self, url: str) -> dict[str, Any]:
        parts = urlsplit(url)
        headers = {
            "authorization": f"Bearer {self.token}",
            "prefer": 'IdType="ImmutableId", odata.maxpagesize=2',
        }
        query = {name: tuple(values) for name, values in parse_qs(parts.query).items()}
        call = Call("GET", parts.path, query, headers, b"", "https://graph.example")
        reply = asyncio.run(self.graph.answer_call(call))
        if reply.status == 410:
            return {"gone": reply.headers["Location"]}
        assert reply.status == 200
        assert isinstance(reply.body, dict)
        return reply.body

    def read_page(self, folder: str) -> bool:
        """True when it was the last of a round."""
        url = self.link[folder] or f"https://graph.example/v1.0/me/mailFolders/{folder}/messages/delta"
        page = self.ask(url)
        if "gone" in page:
            self.known[folder], self.link[folder] = set(), page["gone"]
            return False
        for item in page["value"]:
            if "@removed" in item:
                self.known[folder].discard(item["id"])
            else:
                self.known[folder].add(item["id"])
        self.link[folder] = page.get("@odata.nextLink") or page["@odata.deltaLink"]
        return "@odata.deltaLink" in page

    @rule(folder=st.sampled_from(FOLDERS), copies=st.integers(1, 3))
    def deliver(self, folder: str, copies: int) -> None:
        for _ in range(copies):
            message_id = self.mailboxes.deliver_mail(
                self.address, b"Subject: x\r\n\r\nx", folder=folder, received_at=None
            )
            self.there[message_id] = folder

    @precondition(lambda self: self.there)
    @rule(data=st.data(), folder=st.sampled_from(FOLDERS))
    def move(self, data: st.DataObject, folder: str) -> None:
        message_id = data.draw(st.sampled_from(sorted(self.there)))
        assert self.mailboxes.move_message(self.address, message_id, folder) == message_id
        self.there[message_id] = folder

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        message_id = data.draw(st.sampled_from(sorted(self.there)))
        self.mailboxes.delete_message(self.address, message_id)
        del self.there[message_id]

    @precondition(lambda self: self.there)
    @rule(data=st.data(), is_read=st.booleans())
    def mark(self, data: st.DataObject, is_read: bool) -> None:
        self.mailboxes.mark_read(self.address, data.draw(st.sampled_from(sorted(self.there))), is_read=is_read)

    @rule(folder=st.sampled_from(FOLDERS))
    def one_page(self, folder: str) -> None:
        self.read_page(folder)

    @rule()
    def forget_cursors(self) -> None:
        self.mailboxes.refuse_cursors(self.address)

    @rule(folder=st.sampled_from(FOLDERS))
    def catch_up(self, folder: str) -> None:
        # The round under way may have begun before the last change: the one after it has not.
        ends = 0
        while ends < 2:
            ends += self.read_page(folder)
        assert self.known[folder] == {one for one, where in self.there.items() if where == folder}

    @invariant()
    def nothing_is_in_two_rounds_forever(self) -> None:
        assert all(link is None or "token=" in link for link in self.link.values())


TestDeltaRounds = DeltaRounds.TestCase
TestDeltaRounds.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)

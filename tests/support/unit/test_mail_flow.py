"""The flow knows which contents it delivered, and the ledger is read from the provider alone."""

import asyncio
import hashlib
from email import message_from_bytes, policy
from typing import Any, cast

import pytest
from mail_ledger.mail_flow import Mailbox, MailFlow, read_ledger

from mailroom_sandbox.provider_doubles.client import ControlClient, ControlError

MAILBOXES = [Mailbox("outlook", "a@outlook.test", "s1"), Mailbox("gmail", "b@gmail.test", "s2")]


class FakeProviders:
    """Keeps what is delivered; `lost` drops every mail."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    async def deliver_mail(self, source: bytes, to: str, *, provider: str) -> list[str]:
        await asyncio.sleep(0)  # as a call over HTTP does, it lets others run
        digest = hashlib.sha256(source).hexdigest()
        self.rows.append({"to": to, "message_id": f"m{len(self.rows)}", "mime_sha256": digest, "source": source})
        return [self.rows[-1]["message_id"]]

    async def list_messages(self, address: str, provider: str) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["to"] == address]


def make_flow(providers: FakeProviders, seed: int = 1) -> MailFlow:
    return MailFlow(cast(ControlClient, providers), MAILBOXES, 20.0, seed)


async def test_ledger_holds_each_mail_with_the_hashes_of_its_attachments() -> None:
    providers = FakeProviders()
    flow = make_flow(providers)
    await flow.deliver(10)
    ledger = await read_ledger(flow.control, MAILBOXES, flow.contents_by_mail)
    contents = {}
    for row in providers.rows:
        (attachment,) = message_from_bytes(row["source"], policy=policy.default).iter_attachments()
        contents[row["message_id"]] = (hashlib.sha256(attachment.get_content()).hexdigest(),)
    assert {mail.message_id: mail.contents for mail in ledger} == contents
    assert len(ledger) == 10


async def test_a_mail_whose_delivery_was_not_answered_counts_as_the_ledger_has_it() -> None:
    class SlowProviders(FakeProviders):
        async def deliver_mail(self, source: bytes, to: str, *, provider: str) -> list[str]:
            (arrived,) = await super().deliver_mail(source, to, provider=provider)
            if arrived == "m1":
                raise ControlError("the sandbox does not answer")
            return [arrived]

    flow = make_flow(SlowProviders())
    await flow.deliver(4)
    assert len(await read_ledger(flow.control, MAILBOXES, flow.contents_by_mail)) == 4


async def test_some_contents_come_twice_in_one_mailbox() -> None:
    providers = FakeProviders()
    flow = make_flow(providers)
    await flow.deliver(60)
    ledger = await read_ledger(flow.control, MAILBOXES, flow.contents_by_mail)
    assert 45 < len({(mail.doc_source_id, mail.contents) for mail in ledger}) < 60


async def test_a_second_batch_brings_other_contents() -> None:
    flow = make_flow(FakeProviders())
    await flow.deliver(5)
    before = set(flow.contents_by_mail.values())
    await flow.deliver(5)
    assert len(set(flow.contents_by_mail.values())) > len(before)


async def test_a_mail_in_the_ledger_that_the_flow_did_not_deliver_is_an_error() -> None:
    providers = FakeProviders()
    await providers.deliver_mail(b"someone else's", "a@outlook.test", provider="outlook")
    with pytest.raises(KeyError):
        await read_ledger(make_flow(providers).control, MAILBOXES, {})


async def test_flow_keeps_its_rate_and_ends_when_told() -> None:
    flow = make_flow(FakeProviders())
    ending = asyncio.Event()
    delivering = asyncio.create_task(flow.deliver_until(ending))
    await asyncio.sleep(0.3)
    ending.set()
    await asyncio.wait_for(delivering, 5)
    assert 1 <= flow.delivered <= 10

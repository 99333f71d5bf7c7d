"""The demo, from connected mailboxes to an account of every mail."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console

from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo import expectations
from mailroom_sandbox.site.demo.accounting import Item, MailAccount, build_mail_account
from mailroom_sandbox.site.demo.api import MailroomAPI, retry_while_unavailable
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.demo.mails import SAMPLES, Mail, deliver_mails
from mailroom_sandbox.site.demo.tables import DocumentRows, build_account_table, show_documents
from mailroom_sandbox.site.endpoints import Endpoints
from mailroom_sandbox.site.lifecycle import SitePlan

MAILBOXES = {"outlook": "ap@outlook.test", "gmail": "ap@gmail.test"}
_POLL_S = 0.4
_PATIENCE_S = 120.0  # without any progress


@dataclass(frozen=True, slots=True)
class DemoMailbox:
    provider: str
    address: str
    doc_source_id: str
    delivered: Mapping[Mail, str]


@dataclass(frozen=True, slots=True)
class MailboxSnapshot:
    """What the APIs say of one mailbox: messages by the provider's id, documents by ours."""

    mailbox: DemoMailbox
    messages: Mapping[str, Item]
    documents: Mapping[str, Item]

    @property
    def build_mail_accounts(self) -> list[tuple[str, MailAccount]]:
        """Each delivered mail by its name, with what became of it."""
        return [
            (mail.name, build_mail_account(message_id, self.messages, self.documents))
            for mail, message_id in self.mailbox.delivered.items()
        ]


@dataclass(frozen=True, slots=True)
class Demo:
    """`mails` are delivered to both mailboxes; those `of_the_repository` have documents that are known beforehand."""

    plan: SitePlan
    control_url: str
    console: Console
    mails: Sequence[Mail]
    of_the_repository: bool
    once: bool

    async def __call__(self, endpoints: Endpoints) -> int:
        assert endpoints.api_key is not None  # noqa: S101  # the sandbox makes its own
        trusted = self.plan.certificates.client_context()
        async with (
            MailroomAPI(endpoints.public, endpoints.api_key, trusted) as api,
            ControlClient(self.control_url) as control,
        ):
            connected = [await self._connect_mailbox(api, control, provider) for provider in MAILBOXES]
            rows = DocumentRows(self.console, {mailbox.doc_source_id: mailbox.address for mailbox in connected})
            code = self._report_differences(await self._follow_mails(api, connected, rows))
            if self.once or not self.of_the_repository:
                return code
            self._print_commands(endpoints)
            await self._show_new_documents(api, rows)
            return 0

    async def _connect_mailbox(self, api: MailroomAPI, control: ControlClient, provider: str) -> DemoMailbox:
        address = MAILBOXES[provider]
        await control.find_or_create_mailbox(provider, address)
        trusted = self.plan.certificates.client_context()
        # An attempt that was cut off left a source that nobody has consented to; the next one finds it and goes on.
        doc_source_id = await retry_while_unavailable(lambda: ensure_mailbox_connected(api, provider, address, trusted))
        self.console.print(f"[green]✓[/] {address} is connected")
        delivered, new = await deliver_mails(control, provider, address, self.mails, self.plan.home.deliveries)
        self.console.print(f"[green]✓[/] {new} mails delivered to {address}, {len(delivered) - new} were there already")
        return DemoMailbox(provider, address, doc_source_id, delivered)

    async def _follow_mails(
        self, api: MailroomAPI, mailboxes: Sequence[DemoMailbox], rows: DocumentRows
    ) -> list[MailboxSnapshot]:
        """Shows documents as they appear until every mail is accounted for, or nothing moves any more."""
        loop = asyncio.get_running_loop()
        moved_at_s, before = loop.time(), None
        while True:
            began_at_s = loop.time()
            looks = [await retry_while_unavailable(partial(_take_snapshot, api, mailbox)) for mailbox in mailboxes]
            for look in looks:
                rows.show_documents(look.documents.values())
            now = [look.build_mail_accounts for look in looks]
            if now != before:
                moved_at_s, before = loop.time(), now
            is_missing = any(account.missing for accounts in now for _, account in accounts)
            if not is_missing or loop.time() - moved_at_s > _PATIENCE_S:
                return looks
            # Many mails make a look long: looking must not be all that the machine does.
            await asyncio.sleep(max(_POLL_S, 2 * (loop.time() - began_at_s)))

    def _report_differences(self, looks: Sequence[MailboxSnapshot]) -> int:
        differences = [difference for look in looks for difference in self._list_differences(look)]
        for look in looks:
            if not self.of_the_repository:
                self.console.print(build_account_table(look.mailbox.address, look.build_mail_accounts))
            elif self.once:  # otherwise they have just been shown, and there is more to come
                show_documents(self.console, look.mailbox.address, look.documents.values())
        for difference in differences:
            self.console.print(f"[red]✗[/] {difference}", soft_wrap=True)
        if not differences:
            self.console.print(f"[green]✓[/] every mail is accounted for in {len(looks)} mailboxes")
        return 1 if differences else 0

    def _list_differences(self, look: MailboxSnapshot) -> Iterator[str]:
        for mail, account in look.build_mail_accounts:
            if account.missing:
                yield f"{look.mailbox.address}: {mail}: {account.missing}"
        if self.of_the_repository:
            expected, lists_inline = expectations.load_expectations(SAMPLES), look.mailbox.provider != "outlook"
            for text in expectations.find_differences(expected, look.build_mail_accounts, lists_inline=lists_inline):
                yield f"{look.mailbox.address}: {text}"

    def _print_commands(self, endpoints: Endpoints) -> None:
        url = endpoints.public.replace("https://", "http://")
        lines = (
            ("documents", f"curl -H 'Authorization: Bearer {endpoints.api_key}' {url}/documents"),
            ("as they come", f"curl -N -H 'Authorization: Bearer {endpoints.api_key}' {url}/documents/events"),
            ("all calls", f"{url}/docs"),
            ("drop a mail in", f".venv/bin/mailroom-sandbox send sandbox/one-more.eml --to {MAILBOXES['outlook']}"),
            ("", f".venv/bin/mailroom-sandbox send FILE.eml --to {MAILBOXES['gmail']}"),
            ("another mailbox", ".venv/bin/mailroom-sandbox connect outlook sales@outlook.test"),
            ("is it working?", ".venv/bin/mailroom status"),
            ("addresses", str(self.plan.home.endpoints)),
            ("logs", f"{self.plan.home.logs}/ (make logs)"),
            ("stop", "Ctrl-C; make run resumes, make clean forgets"),
        )
        self.console.print()
        for name, text in lines:
            self.console.print(f"[bold]{name:16}[/]{text}", soft_wrap=True, highlight=False)

    async def _show_new_documents(self, api: MailroomAPI, rows: DocumentRows) -> None:
        """Shows what arrives from now on, until somebody stops us."""
        while True:
            async for _ in api.follow_document_events():
                documents = await retry_while_unavailable(partial(api.list_items, "/documents"))
                if not all(rows.knows_mailbox_of(document) for document in documents):
                    sources = await retry_while_unavailable(partial(api.list_items, "/doc-sources"))
                    rows.name_mailboxes({source["id"]: source["address"] or "?" for source in sources})
                rows.show_documents(documents)
            await asyncio.sleep(1)  # the stream broke, since its service is just being started again


async def _take_snapshot(api: MailroomAPI, mailbox: DemoMailbox) -> MailboxSnapshot:
    messages, documents = await asyncio.gather(
        api.list_items("/messages", doc_source_id=mailbox.doc_source_id),
        api.list_items("/documents", doc_source_id=mailbox.doc_source_id),
    )
    return MailboxSnapshot(
        mailbox,
        {message["message_id"]: message for message in messages},
        {document["id"]: document for document in documents},
    )

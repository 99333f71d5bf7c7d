"""The mailboxes in memory of sync-engine's tests and the real clients keep one contract: a rule here holds for all."""

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from fake_mailbox import FakeClock, FakeGmail, FakeOutlook, File
from provider_client_fixtures import PDF, PROVIDER_NAMES, START_AT, mail, part_bytes, whole_round

from mailroom_common.errors import ItemGone
from mailroom_common.events import Access, Profile
from mailroom_common.provider_clients import Providers
from mailroom_common.providers.ports import HISTORY_SCOPE, RELIST_SCOPE, ChangeListing, MailReader
from mailroom_common.providers.types import ChangeKind, Folder, Mailbox
from mailroom_sandbox.testkit.running_providers import RunningProviders

pytestmark = pytest.mark.stack


@dataclass(frozen=True, slots=True)
class ReaderSubject:
    """A reader, and how a mail comes to its inbox or goes from it."""

    reader: MailReader
    mailbox: Mailbox
    deliver_mail: Callable[[], Awaitable[str]]
    delete_mail: Callable[[str], Awaitable[None]]
    create_folder: Callable[[str], Awaitable[str]]

    @property
    def has_history(self) -> bool:
        return self.reader.traits.change_listing is ChangeListing.MAILBOX_HISTORY

    async def find_inbox(self) -> str:
        folders = await self.reader.list_folders(self.mailbox)
        return next(one.folder_id for one in folders if str(one.well_known).lower() == "inbox")

    async def choose_scope(self) -> str:
        return HISTORY_SCOPE if self.has_history else await self.find_inbox()


SUBJECTS = [f"{kind} {provider}" for kind in ("fake", "real") for provider in PROVIDER_NAMES]


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest) -> ReaderSubject:
    kind, provider = request.param.split()
    if kind == "fake":
        clock = FakeClock(datetime.now(UTC))
        return build_fake(FakeOutlook(clock) if provider == "outlook" else FakeGmail(clock))
    # Only now, so that a fake needs no provider: `request` starts the fixtures that its name stands for.
    real: ReaderSubject = request.getfixturevalue(f"real_{provider}")
    return real


@pytest.fixture
async def real_outlook(sandbox: RunningProviders, providers: Providers, outlook: Mailbox) -> ReaderSubject:
    return build_real(sandbox, providers, outlook)


@pytest.fixture
async def real_gmail(sandbox: RunningProviders, providers: Providers, gmail: Mailbox) -> ReaderSubject:
    return build_real(sandbox, providers, gmail)


def build_real(sandbox: RunningProviders, providers: Providers, mailbox: Mailbox) -> ReaderSubject:
    async def deliver_mail() -> str:
        (message_id,) = await sandbox.control.deliver_mail(mail(), mailbox.address)
        return message_id

    async def delete_mail(message_id: str) -> None:
        await sandbox.control.delete_message(mailbox.address, message_id)

    async def create_folder(path: str) -> str:
        return await sandbox.control.find_or_create_folder(mailbox.address, path)

    return ReaderSubject(providers.mail[mailbox.provider], mailbox, deliver_mail, delete_mail, create_folder)


def build_fake(fake: FakeOutlook | FakeGmail) -> ReaderSubject:
    mailbox = Mailbox(
        doc_source_id=str(uuid.uuid4()),
        provider=fake.traits.name,
        access=Access.DELEGATED,
        profile=Profile.INVOICE,
        address="contract@example.org",
    )

    async def deliver_mail() -> str:
        message_id = f"m-{len(fake.mails)}"
        fake.deliver(message_id, File(PDF, filename="Rechnung ä.pdf"))
        return message_id

    async def delete_mail(message_id: str) -> None:
        fake.delete(message_id)

    async def create_folder(path: str) -> str:
        (fake.tree if isinstance(fake, FakeOutlook) else fake.labels).append(Folder("own", path))
        return "own"

    return ReaderSubject(fake, mailbox, deliver_mail, delete_mail, create_folder)


async def test_the_inbox_is_listed_and_is_where_a_delivered_mail_lies(subject: ReaderSubject) -> None:
    message_id = await subject.deliver_mail()
    summary = (await subject.reader.fetch_message(subject.mailbox, message_id)).summary
    inbox = await subject.find_inbox()
    assert inbox in summary.labels if subject.reader.traits.uses_labels else summary.folder_id == inbox


async def test_a_folder_of_the_users_own_is_listed_by_its_path(subject: ReaderSubject) -> None:
    folder_id = await subject.create_folder("Suppliers/Invoices")
    listed = {one.folder_id: one for one in await subject.reader.list_folders(subject.mailbox)}
    assert listed[folder_id] == Folder(folder_id, "Suppliers/Invoices")


async def test_a_round_ends_with_a_position_from_which_only_later_mail_comes(subject: ReaderSubject) -> None:
    await subject.deliver_mail()
    scope = await subject.choose_scope()
    _, position = await whole_round(subject.reader, subject.mailbox, scope)
    new_id = await subject.deliver_mail()
    changes, later = await whole_round(subject.reader, subject.mailbox, scope, position)
    assert [(change.kind, change.message_id) for change in changes] == [(ChangeKind.PRESENT, new_id)]
    assert (await whole_round(subject.reader, subject.mailbox, scope, later))[0] == []


async def test_what_the_mailbox_held_before_comes_with_the_first_round_or_with_the_relist(
    subject: ReaderSubject,
) -> None:
    message_id = await subject.deliver_mail()
    scope = await subject.choose_scope()
    first = await subject.reader.list_changes(subject.mailbox, scope, START_AT, position=None, page_token=None)
    assert first.needs_relist == subject.has_history
    scope = RELIST_SCOPE if first.needs_relist else scope
    changes, _ = await whole_round(subject.reader, subject.mailbox, scope)
    assert [change.message_id for change in changes] == [message_id]


async def test_a_deleted_mail_comes_as_removed_and_is_gone(subject: ReaderSubject) -> None:
    message_id = await subject.deliver_mail()
    scope = await subject.choose_scope()
    _, position = await whole_round(subject.reader, subject.mailbox, scope)
    await subject.delete_mail(message_id)
    changes, _ = await whole_round(subject.reader, subject.mailbox, scope, position)
    assert [(change.kind, change.message_id) for change in changes] == [(ChangeKind.REMOVED, message_id)]
    with pytest.raises(ItemGone):
        await subject.reader.fetch_message(subject.mailbox, message_id)


async def test_a_part_has_its_name_and_its_bytes(subject: ReaderSubject) -> None:
    message_id = await subject.deliver_mail()
    assert await part_bytes(subject.reader, subject.mailbox, message_id) == {"Rechnung ä.pdf": PDF}


async def test_a_body_comes_only_when_it_is_asked_for_and_parts_can_be_left_out(subject: ReaderSubject) -> None:
    message_id = await subject.deliver_mail()
    message = await subject.reader.fetch_message(subject.mailbox, message_id, with_body=True, with_parts=False)
    assert message.html_body is not None
    assert message.parts == ()

import hashlib
from pathlib import Path

from mailroom_sandbox.site.demo.mails import Mail, deliver_mails, find_mails
from mailroom_sandbox.testkit.running_providers import running_providers

ADDRESS = "ap@outlook.test"


def mails_in(folder: Path) -> list[Mail]:
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.eml").write_bytes(f"Subject: {name}\r\n\r\nhello\r\n".encode())
    return find_mails(folder)


async def test_each_content_is_delivered_once_whatever_was_forgotten(tmp_path: Path) -> None:
    mails, remembered = mails_in(tmp_path / "mails"), tmp_path / "deliveries.json"
    async with running_providers(tmp_path / "providers") as providers:
        await providers.control.find_or_create_mailbox("outlook", ADDRESS)
        first, new = await deliver_mails(providers.control, "outlook", ADDRESS, mails, remembered)
        assert (new, set(first)) == (2, set(mails))
        assert await deliver_mails(providers.control, "outlook", ADDRESS, mails, remembered) == (first, 0)
        # Cut off between delivery and note: the mailbox itself knows.
        remembered.unlink()
        assert await deliver_mails(providers.control, "outlook", ADDRESS, mails, remembered) == (first, 0)
        # Removed from the mailbox by its owner: that is no reason to send it again.
        await providers.control.delete_message(ADDRESS, first[mails[0]])
        assert await deliver_mails(providers.control, "outlook", ADDRESS, mails, remembered) == (first, 0)
        assert len(await providers.control.list_messages(ADDRESS)) == 1


async def test_delivered_mail_is_the_file_byte_for_byte(tmp_path: Path) -> None:
    mails = mails_in(tmp_path / "mails")
    async with running_providers(tmp_path / "providers") as providers:
        await providers.control.find_or_create_mailbox("gmail", "ap@gmail.test")
        await deliver_mails(providers.control, "gmail", "ap@gmail.test", mails, tmp_path / "deliveries.json")
        there = {item["mime_sha256"] for item in await providers.control.list_messages("ap@gmail.test")}
    assert there == {hashlib.sha256(mail.path.read_bytes()).hexdigest() for mail in mails}

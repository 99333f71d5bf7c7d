"""`mailroom-sandbox mailbox|send|move|delete|calls|fault` against running providers."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from mailroom_sandbox.provider_doubles.cli import app
from mailroom_sandbox.testkit.mailbox_users import GMAIL, OUTLOOK, MailboxUser, build_mail
from mailroom_sandbox.testkit.running_providers import RunningProviders


async def typed(providers: RunningProviders, *words: str, exit_code: int = 0) -> str:
    def invoke() -> Result:
        return CliRunner().invoke(app, [*words, "--control", providers.at.control_url])

    result = await asyncio.to_thread(invoke)
    assert result.exit_code == exit_code, result.output
    return result.output


async def test_mailbox_is_made_and_listed(providers: RunningProviders) -> None:
    await typed(providers, "mailbox", "create", "gmail", "new@mail.example")
    assert "gmail    new@mail.example" in await typed(providers, "mailbox", "list")
    assert "'pigeon' is not one of" in await typed(
        providers, "mailbox", "create", "pigeon", "new@mail.example", exit_code=2
    )
    assert "address: String should match" in await typed(providers, "mailbox", "create", "gmail", "new", exit_code=1)


async def test_mails_are_sent_moved_and_deleted(providers: RunningProviders, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.eml").write_bytes(build_mail(name))
    sent = await typed(
        providers, "send", str(tmp_path), "--to", OUTLOOK, "--folder", "Inbox/Bills", "--times", "2", "--create-folder"
    )
    lines = [line.split() for line in sent.splitlines()]
    assert [name for _, name in lines] == ["one.eml", "one.eml", "two.eml", "two.eml"]
    first, second = lines[0][0], lines[1][0]
    assert (await typed(providers, "move", OUTLOOK, first, "Inbox/Done")).strip() == first
    await typed(providers, "delete", OUTLOOK, second)
    left = {one["message_id"]: one["folder"] for one in await providers.control.list_messages(OUTLOOK)}
    assert second not in left
    assert (left[first], len(left)) == ("Done", 3)
    await typed(providers, "delete", OUTLOOK, second, exit_code=1)


@pytest.mark.parametrize("address", [OUTLOOK, GMAIL])
async def test_folder_that_is_not_there_is_made_only_where_it_is_asked_for(
    providers: RunningProviders, tmp_path: Path, address: str
) -> None:
    (tmp_path / "one.eml").write_bytes(build_mail("one"))
    send = ("send", str(tmp_path), "--to", address, "--folder", "Bils")
    assert "has no folder Bils; --create-folder makes it" in await typed(providers, *send, exit_code=1)
    assert await providers.control.list_messages(address) == []
    await typed(providers, *send, "--create-folder")
    await typed(providers, *send)
    await typed(providers, "send", str(tmp_path), "--to", address, "--folder", "inbox")
    assert len(await providers.control.list_messages(address)) == 3


async def test_sandbox_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "one.eml").write_bytes(build_mail("one"))
    words = ["send", str(tmp_path), "--to", OUTLOOK, "--control", "http://127.0.0.1:9"]
    result = await asyncio.to_thread(lambda: CliRunner().invoke(app, words))
    assert result.exit_code == 1
    assert "the sandbox at http://127.0.0.1:9 does not answer (ConnectError): is it still running?" in result.output


async def test_calls_are_shown_and_forgotten(providers: RunningProviders, outlook: MailboxUser) -> None:
    await outlook.send_request("GET", "/me")
    shown = await typed(providers, "calls", "--mailbox", OUTLOOK, "--json", "--reset")
    assert json.loads(shown.splitlines()[-1])["path"] == "/v1.0/me"
    assert await providers.control.list_calls() == []
    assert "provider" in await typed(providers, "calls")


async def test_faults_are_switched(providers: RunningProviders) -> None:
    await typed(providers, "fault", "set", "unavailable", "status=429", "retry_after=2.5", "times=3")
    (fault,) = (await providers.control.list_faults())["items"]
    assert (fault["status"], fault["retry_after"], fault["times"]) == (429, "2.5", 3)
    await typed(providers, "fault", "set", "notifications", "mode=off", "--mailbox", OUTLOOK)
    listed = await typed(providers, "fault", "list")
    assert listed.count("on: ") == 2
    assert "cursor_refused" in listed
    assert "1 cleared" in await typed(providers, "fault", "clear", "unavailable")
    assert "1 cleared" in await typed(providers, "fault", "clear")
    assert "there are" in await typed(providers, "fault", "set", "gravity", exit_code=1)
    assert "NAME=VALUE" in await typed(providers, "fault", "set", "unavailable", "loudly", exit_code=2)


async def test_what_names_nothing_is_said_to(providers: RunningProviders, tmp_path: Path) -> None:
    assert "no .eml file" in await typed(providers, "send", str(tmp_path), "--to", OUTLOOK, exit_code=1)
    nobody = ("--mailbox", "nobody@company.example")
    for words in (("calls",), ("fault", "set", "unavailable"), ("fault", "clear", "unavailable")):
        assert "no mailbox nobody" in await typed(providers, *words, *nobody, exit_code=1)
    assert "there are" in await typed(providers, "fault", "clear", "gravity", exit_code=1)
    (tmp_path / "old.eml").write_bytes(build_mail("old"))
    old = (str(tmp_path / "old.eml"), "--to", OUTLOOK, "--received-at", "0001-01-01")
    assert "1970" in await typed(providers, "send", *old, exit_code=1)


@pytest.mark.parametrize(
    "words",
    [
        ["mailbox", "create"],
        ["mailbox", "list"],
        ["send"],
        ["move"],
        ["delete"],
        ["calls"],
        ["fault", "set"],
        ["fault", "clear"],
        ["fault", "list"],
    ],
)
def test_every_command_shows_an_example(words: list[str]) -> None:
    result = CliRunner().invoke(app, [*words, "--help"])
    assert f"mailroom-sandbox {' '.join(words)}" in " ".join(result.output.split())


def test_without_a_running_sandbox_a_sentence_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_HOME", str(tmp_path))
    monkeypatch.delenv("MAILROOM_SANDBOX_CONTROL", raising=False)
    result = CliRunner().invoke(app, ["mailbox", "list"])
    assert result.exit_code == 1
    assert "--control" in result.output

"""`mailroom replay` through a fake API; what is wrong with a command is said before anything is done."""

import json
from typing import Any
from uuid import UUID

import httpx
import pytest
from typer.testing import CliRunner

from mailroom_cli.__main__ import app
from mailroom_cli.replay_documents import FinalStatus
from mailroom_common.events import ResultStatus

ENVIRONMENT = {"MAILROOM_API_URL": "http://127.0.0.1:1", "MAILROOM_API_KEY": "key-of-acme"}
SOURCE = {
    "id": "s1",
    "address": "ap@acme.example",
    "state": "active",
    "start_at": "2026-06-01T00:00:00Z",
    "relist_from": None,
    "relist_number": 1,
}


class FakeAPI:
    """`documents` wait to be read again, by the replays that have asked for them."""

    def __init__(self, documents: int = 120) -> None:
        self.documents: dict[int, str | None] = dict.fromkeys(range(documents))
        self.calls: list[tuple[str, str, Any]] = []
        self.fail_after: int | None = None
        self.runs: list[dict[str, Any]] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        self.calls.append((request.method, request.url.path, body))
        if request.headers["authorization"] != "Bearer key-of-acme":
            return httpx.Response(401, json={"title": "An API key is needed"})
        if self.fail_after is not None and len(self.calls) > self.fail_after:
            return httpx.Response(503, json={"title": "not now"})
        match request.method, request.url.path:
            case "POST", "/documents/reprocess":
                return httpx.Response(202, json=self._reprocess(body or {}))
            case "GET", "/sync-runs":
                return httpx.Response(200, json={"items": self.runs, "next_cursor": None})
            case "GET", "/messages":
                return httpx.Response(200, json={"items": [{}, {}], "next_cursor": None})
            case "GET", "/doc-sources":
                return httpx.Response(200, json={"items": [SOURCE], "next_cursor": None})
            case "GET" | "PATCH", "/doc-sources/s1":
                if body:
                    # Newest first. A full run of before the request may end after it.
                    run = {"kind": "all_cursors", "outcome": "done", "new_messages": 0, "stored_parts": 0}
                    own = {**run, "relist_number": 2, "new_messages": 3, "stored_parts": 4}
                    failed = {**own, "outcome": "retry"}
                    self.runs = [{**run, "relist_number": 2}, own, failed, {**run, "relist_number": 1}]
                return httpx.Response(200, json=SOURCE | {"relist_number": 2 if body else 1} | (body or {}))
        return httpx.Response(404, json={"title": "There is no such thing"})

    def _reprocess(self, body: dict[str, Any]) -> dict[str, Any]:
        open_ones = [number for number, by in self.documents.items() if by != body["replay_id"]]
        if body.get("dry_run"):
            return {"matching": len(open_ones), "requested": 0, "next_cursor": None}
        after = int(body.get("cursor", -1))
        page = [number for number in open_ones if number > after][: body["limit"]]
        self.documents.update(dict.fromkeys(page, body["replay_id"]))
        is_last = len(page) < body["limit"]
        return {"matching": len(page), "requested": len(page), "next_cursor": None if is_last else str(page[-1])}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeAPI:
    fake = FakeAPI()
    real = httpx.Client

    def open_client(**options: Any) -> httpx.Client:
        options.pop("verify")
        options.pop("proxy")
        return real(transport=httpx.MockTransport(fake.answer), **options)

    monkeypatch.setattr("mailroom_cli.site_api.httpx.Client", open_client)
    return fake


def run(*words: str, **environment: str) -> Any:
    return CliRunner().invoke(app, list(words), env={**ENVIRONMENT, **environment})


def test_documents_are_counted_and_then_read_again_page_by_page(api: FakeAPI) -> None:
    counted = run("replay", "documents", "--reader", "layout-rules/3", "--dry-run", "--json")
    assert json.loads(counted.stdout)["matching"] == 120
    assert not any(api.documents.values())
    done = run("replay", "documents", "--reader", "layout-rules/3", "--rate", "0", "--json")
    assert json.loads(done.stdout)["requested"] == 120
    assert {body["reader"] for _, _, body in api.calls} == {"layout-rules/3"}


def test_a_replay_of_documents_that_was_cut_off_asks_for_the_rest_only(api: FakeAPI) -> None:
    words = ("replay", "documents", "--all", "--rate", "0", "--replay-id", "r1", "--json")
    api.fail_after = 2
    assert run(*words).exit_code == 1
    api.fail_after = None
    assert json.loads(run(*words).stdout)["requested"] == 70
    assert json.loads(run(*words).stdout)["requested"] == 0


@pytest.mark.parametrize("name", ["ap@acme.example", "s1"])
def test_documents_of_a_source_are_named_by_its_address_or_the_beginning_of_its_id(api: FakeAPI, name: str) -> None:
    run("replay", "documents", "--doc-source", name, "--dry-run")
    assert api.calls[-1][2]["doc_source_id"] == "s1"


def test_a_source_that_there_is_not_and_a_reader_that_read_nothing_are_refused(api: FakeAPI) -> None:
    unknown = run("replay", "documents", "--doc-source", "nosuch", "--dry-run")
    assert str(unknown.exception) == "no doc source is named nosuch; there are: ap@acme.example"
    assert {method for method, _, _ in api.calls} == {"GET"}
    api.documents.clear()
    reader = run("replay", "documents", "--reader", "layout/1", "--dry-run")
    assert str(reader.exception).startswith("no document is read by layout/1")
    assert run("replay", "documents", "--reader", "layout-rules/3", "--replay-id", "r1", "--dry-run").exit_code == 0


def test_a_reader_is_asked_for_with_the_id_of_the_replay(api: FakeAPI) -> None:
    api.documents.clear()
    run("replay", "documents", "--reader", "layout/1", "--dry-run")
    assert len({body["replay_id"] for _, _, body in api.calls}) == 1


def test_what_is_not_read_yet_is_no_status_of_a_replay(api: FakeAPI) -> None:
    assert {status.value for status in FinalStatus} == {*ResultStatus} - {"pending", "processing"}
    assert run("replay", "documents", "--status", "pending", "--dry-run").exit_code == 2


def test_a_mailbox_is_listed_again_and_waited_for(api: FakeAPI) -> None:
    result = run("replay", "mailbox", "s1", "--from", "2026-11-01", "--wait", "--json")
    (mailbox,) = json.loads(result.stdout)
    assert (mailbox["new_messages"], mailbox["stored_parts"]) == (3, 4)
    assert ("PATCH", "/doc-sources/s1", {"relist_from": "2026-11-01T00:00:00+00:00"}) in api.calls


def test_a_date_before_a_mailbox_began_is_refused_in_words_of_the_command(api: FakeAPI) -> None:
    """The API's answer speaks of `relist_from`, which is no option."""
    result = run("replay", "mailbox", "s1", "--from", "2026-01-01")
    assert str(result.exception) == (
        "ap@acme.example: mail before start_at (2026-06-01T00:00Z) is never taken: give --start-at too"
    )
    assert {method for method, _, _ in api.calls} == {"GET"}


def test_a_dry_run_of_a_mailbox_changes_nothing_and_names_what_is_wrong(api: FakeAPI) -> None:
    result = run("replay", "mailbox", "s1", "--from", "2026-01-01", "--dry-run", "--json")
    (mailbox,) = json.loads(result.stdout)
    assert "--start-at" in mailbox["problem"]
    assert mailbox["messages_known"] == "2"
    assert {method for method, _, _ in api.calls} == {"GET"}


def test_a_mailbox_is_named_by_its_address_too(api: FakeAPI) -> None:
    result = run("replay", "mailbox", "ap@acme.example", "--from", "1d", "--dry-run", "--json")
    assert json.loads(result.stdout)[0]["id"] == "s1"


def test_a_wrong_key_and_another_tenants_id_are_told_apart(api: FakeAPI) -> None:
    wrong_key = run("replay", "mailbox", "s1", "--from", "1d", MAILROOM_API_KEY="another")
    theirs = run("replay", "mailbox", str(UUID(int=2)), "--from", "1d", "--dry-run")
    assert "401" in str(wrong_key.exception)
    assert "404" in str(theirs.exception)


@pytest.mark.parametrize(
    "words",
    [
        ("documents",),
        ("mail-events",),
        ("mail-events", "--all", "--replay-id", "two words"),
        ("documents", "--all", "--replay-id", "two words"),
        ("documents", "--status", "lost"),
        ("documents", "--since", "yesterday"),
        ("mailbox", "s1"),
        ("attachments",),
        ("attachments", "--since", "2h", "--all"),
        ("notifications", "--tenant", "acme"),
        ("attachments", "--from-offset", "3"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(api: FakeAPI, words: tuple[str, ...]) -> None:
    result = run("replay", *words)
    assert result.exit_code == 2
    assert api.calls == []


def test_shell_completion_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    # The shell is named and not looked for among the parents of this process, of which none may be a shell.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    result = CliRunner().invoke(app, ["--show-completion", "bash"])
    assert "_MAILROOM_COMPLETE=complete_bash" in result.stdout

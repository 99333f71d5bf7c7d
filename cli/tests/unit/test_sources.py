import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fake_site_api import answer_calls
from typer.testing import CliRunner, Result

from mailroom_cli import source_views, sources, status
from mailroom_cli.__main__ import app
from mailroom_common.errors import Rejected

ID = "0b8f0f4e-6a7c-4a53-9d53-0f6f2c1f9c11"
STATE: dict[str, Any] = {
    "is_grant_refused": False,
    "failed_attempts": 0,
    "not_before": None,
    "missing_folders": [],
    "open_messages": 0,
    "parked_items": 0,
}


class FakeSite:
    """The APIs, in memory: doc sources by id, and each call that was made."""

    def __init__(self) -> None:
        self.sources: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, str, Any]] = []
        self.on_get: Callable[[], None] = lambda: None
        self.runs: list[dict[str, Any]] = []
        self.lists: list[dict[str, str]] = []

    def add_source(self, source_id: str = ID, **changed: Any) -> dict[str, Any]:
        self.sources[source_id] = {
            "id": source_id,
            "provider": "outlook",
            "profile": "invoice",
            "address": "ap@company.example",
            "state": "active",
            "connection_status": "active",
            "connection_reason": None,
            "current_error": None,
            "subscription_expires_at": "2099-12-04T09:12:44+00:00",
            "last_successful_sync_at": "2099-11-28T11:59:00+00:00",
            "start_at": "2026-11-27T09:10:02+00:00",
            "folders": [],
            "filter": {"sender_allow": [], "sender_deny": [], "strictness": "lenient"},
            "created_at": "2026-11-27T09:10:02+00:00",
            **changed,
        }
        return self.sources[source_id]

    def answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        self.calls.append((request.method, request.url.path, body))
        path = request.url.path.split("/")
        if path[1] != "doc-sources":
            items = {"sync-states": [STATE], "sync-runs": self.runs}.get(path[1], [])
            return httpx.Response(200, json={"items": items, "next_cursor": None})
        if len(path) == 2 and request.method == "GET":
            self.lists.append(dict(request.url.params))
            address = request.url.params.get("address")
            found = [source for source in self.sources.values() if address in (None, source["address"].lower())]
            return httpx.Response(200, json={"items": found, "next_cursor": None})
        if len(path) == 2:
            assert body is not None
            made = self.add_source(**{"state": "pending", "connection_reason": "authorization_pending", **body})
            return httpx.Response(201, json={**made, "authorize_url": "https://site/oauth/outlook/authorize?ticket=t"})
        if request.method == "PATCH" and body is not None:
            default = {"sender_allow": [], "sender_deny": [], "strictness": "lenient"}
            self.sources[path[2]]["filter"] = default | body["filter"]
        self.on_get()
        return httpx.Response(200, json=self.sources[path[2]])


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> FakeSite:
    fake = FakeSite()

    answer_calls(monkeypatch, fake.answer, sources, status)
    monkeypatch.setattr(sources, "_POLL_S", 0)
    return fake


def typed(*words: str, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == exit_code, result.output
    return result


def test_connect_prints_the_link_and_ends_once_it_is_connected(site: FakeSite) -> None:
    def consent() -> None:
        site.sources[ID] |= {"state": "active", "connection_reason": None}

    site.on_get = consent
    said = typed("sources", "connect", "outlook", "--address", "ap@company.example", "--folder", "Bills").output
    assert "https://site/oauth/outlook/authorize?ticket=t" in said
    assert "ap@company.example is connected" in said
    _, _, body = site.calls[0]
    assert body == {
        "provider": "outlook",
        "profile": "invoice",
        "access": "delegated",
        "folders": ["Bills"],
        "address": "ap@company.example",
    }


def test_connect_ends_though_the_provider_refuses_a_subscription(site: FakeSite) -> None:
    def consent() -> None:
        refused = {"connection_status": "subscription_expired", "connection_reason": "subscription_refused"}
        site.sources[ID] |= {"state": "active", **refused}

    site.on_get = consent
    assert "is connected" in typed("sources", "connect", "outlook", "--address", "ap@company.example").output


def test_connect_says_why_a_consent_was_refused_and_ends_with_1(site: FakeSite) -> None:
    def refuse() -> None:
        site.sources[ID] |= {"connection_status": None, "connection_reason": "other_mailbox"}

    site.on_get = refuse
    said = typed("sources", "connect", "outlook", "--wait", "0.05", exit_code=1).output
    assert f"other_mailbox; `mailroom sources authorize {ID}`" in said


def test_connect_without_waiting_gives_the_answer_as_json(site: FakeSite) -> None:
    said = typed("sources", "connect", "outlook", "--no-wait", "--json").output
    assert json.loads(said)["authorize_url"].endswith("ticket=t")


@pytest.mark.parametrize("name", [ID, ID[:8], "AP@company.example"])
def test_source_is_named_by_id_by_its_beginning_or_by_address(site: FakeSite, name: str) -> None:
    site.add_source()
    typed("sources", "pause", name)
    assert site.calls[-1][:2] == ("POST", f"/doc-sources/{ID}/pause")


def test_a_source_that_an_address_names_is_found_without_the_list_of_all(site: FakeSite) -> None:
    site.add_source()
    typed("sources", "pause", "AP@company.example")
    assert site.lists == [{"address": "ap@company.example", "limit": "200"}]


def test_name_of_two_or_of_none_is_refused_with_what_there_is(site: FakeSite) -> None:
    site.add_source()
    site.add_source("1" * 36, profile="observation")
    for name, sentence in (
        ("ap@company.example", "several doc sources"),
        ("nobody@company.example", "there are: ap@company.example"),
    ):
        result = CliRunner().invoke(app, ["sources", "show", name])
        assert isinstance(result.exception, Rejected)
        assert sentence in str(result.exception)
    assert site.lists[-1] == {"limit": "10"}  # a few to choose from, and not the list of all


def test_delete_asks_first(site: FakeSite) -> None:
    site.add_source()
    assert CliRunner().invoke(app, ["sources", "delete", ID], input="n\n").exit_code == 1
    assert site.calls[-1][0] == "GET"
    typed("sources", "delete", ID, "--yes")
    assert site.calls[-1][:2] == ("DELETE", f"/doc-sources/{ID}")


def test_status_is_0_while_every_mailbox_works_and_1_otherwise(site: FakeSite) -> None:
    site.add_source()
    assert "works" in typed("status").output
    site.add_source("1" * 36, state="paused", address="b@company.example")
    said = typed("status", exit_code=1).output
    assert "is paused" in said
    assert "1 of 2 mailboxes do not work" in said


def test_status_as_json_has_what_each_was_judged_by(site: FakeSite) -> None:
    site.add_source()
    (shown,) = json.loads(typed("status", "--json").output)
    assert (shown["is_working"], shown["troubles"], shown["sync_state"]) == (True, [], STATE)


def test_empty_site_says_how_to_connect_the_first_mailbox(site: FakeSite) -> None:
    assert "mailroom sources connect" in typed("status").output
    assert "mailroom sources connect" in typed("sources", "list").output


def test_show_has_fields_and_health(site: FakeSite) -> None:
    site.add_source(current_error=None)
    said = typed("sources", "show", ID).output
    assert "✓ works" in said
    assert "provider" in said


def test_a_run_whose_worker_was_killed_is_not_shown_as_under_way_for_ever(site: FakeSite) -> None:
    site.add_source()
    shared = {"started_at": "2026-11-28T11:59:00+00:00", "reasons": [], "new_messages": 0, "detail": None}
    kinds = (("recent_changes", None), ("all_cursors", None), ("recent_changes", None), ("all_cursors", "done"))
    site.runs = [{**shared, "kind": kind, "outcome": outcome} for kind, outcome in kinds]
    rows = typed("sources", "show", ID).output.partition("last runs\n")[2].splitlines()[1:]
    shown = [next(word for word in ("under way", "interrupted", "done") if word in row) for row in rows]
    assert shown == ["under way", "under way", "interrupted", "done"]


def test_columns_are_as_wide_as_their_longest_cell(capsys: pytest.CaptureFixture[str]) -> None:
    source_views.print_columns(("a", "b"), [("long", "x")])
    assert capsys.readouterr().out == "a     b\nlong  x\n"


def test_filter_changes_what_is_given_and_keeps_the_rest(site: FakeSite) -> None:
    site.add_source(filter={"sender_allow": ["acme.example"], "sender_deny": ["a.example"], "strictness": "lenient"})
    said = typed("sources", "filter", ID, "--deny", "b.example", "--deny", "c@d.example").output
    assert said == "lenient; always from acme.example; never from b.example, c@d.example\n"
    sent = {"sender_allow": ["acme.example"], "sender_deny": ["b.example", "c@d.example"], "strictness": "lenient"}
    assert site.calls[-1] == ("PATCH", f"/doc-sources/{ID}", {"filter": sent})


def test_filter_is_cleared_and_shown_without_a_change(site: FakeSite) -> None:
    site.add_source(filter={"sender_allow": ["acme.example"], "sender_deny": [], "strictness": "lenient"})
    assert typed("sources", "filter", ID).output == "lenient; always from acme.example\n"
    assert [method for method, _, _ in site.calls] == ["GET"]
    typed("sources", "filter", ID, "--clear", "--strictness", "strict")
    assert site.calls[-1] == ("PATCH", f"/doc-sources/{ID}", {"filter": {"strictness": "strict"}})

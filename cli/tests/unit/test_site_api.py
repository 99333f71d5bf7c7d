import json
from pathlib import Path

import httpx
import pytest

from mailroom_cli.settings import CommandsSettings
from mailroom_cli.site_api import SiteAddress, SiteAPI, find_site, load_kafka_settings
from mailroom_common.errors import Rejected, SettingsError, Unavailable
from mailroom_common.settings import load_settings

HERE = {
    "kafka": "127.0.0.1:4",
    "public": "https://mail.example",
    "subscription_manager": "http://127.0.0.1:1",
    "sync_engine": "http://127.0.0.1:2",
    "ingestion": "http://127.0.0.1:3",
    "api_key": "here-canary",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("API_URL", "API_KEY", "PUBLIC_URL", "HOME", "KAFKA_BOOTSTRAP", "KAFKA_PASSWORD"):
        monkeypatch.delenv(f"MAILROOM_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".mailroom"


def run_site_here(home: Path, **changed: object) -> None:
    (home / "run").mkdir(parents=True)
    (home / "run" / "endpoints.json").write_text(json.dumps({**HERE, **changed}))


def test_site_that_runs_here_is_found_from_a_folder_below(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_site_here(home)
    (home.parent / "a/b").mkdir(parents=True)
    monkeypatch.chdir(home.parent / "a/b")
    site = find_site(load_settings(CommandsSettings))
    assert site.locate_path("/doc-sources/x") == "http://127.0.0.1:1/doc-sources/x"
    assert site.locate_path("/sync-runs") == "http://127.0.0.1:2/sync-runs"
    assert site.key == "here-canary"
    assert "canary" not in repr(site)


def test_environment_goes_before_a_site_that_runs_here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_site_here(home)
    monkeypatch.setenv("MAILROOM_API_URL", "https://elsewhere.example/")
    monkeypatch.setenv("MAILROOM_API_KEY", "key-canary")
    site = find_site(load_settings(CommandsSettings))
    assert (site.locate_path("/messages"), site.key) == ("https://elsewhere.example/messages", "key-canary")


def test_public_url_stands_for_the_api_where_no_site_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_PUBLIC_URL", "https://mail.example")
    monkeypatch.setenv("MAILROOM_API_KEY", "key-canary")
    assert find_site(load_settings(CommandsSettings)).url == "https://mail.example"


def test_nothing_to_go_by_names_the_variables() -> None:
    with pytest.raises(SettingsError, match=r"MAILROOM_API_URL is not set.*MAILROOM_API_KEY"):
        find_site(load_settings(CommandsSettings))


def test_place_where_no_site_was_found_is_that_of_mailroom_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAILROOM_HOME", str(tmp_path / "moved"))
    with pytest.raises(SettingsError, match=r"no site runs here \(\S+/moved/run/endpoints\.json\)"):
        find_site(load_settings(CommandsSettings))


def test_site_with_keys_of_its_environment_needs_one_of_them(home: Path) -> None:
    run_site_here(home, api_key=None)
    with pytest.raises(SettingsError, match="MAILROOM_API_KEY is not set"):
        find_site(load_settings(CommandsSettings))


def test_a_key_that_is_kept_from_another_users_site_is_not_called_missing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_site_here(home, api_key=None)
    monkeypatch.setenv("MAILROOM_API_KEY", "key-canary")
    monkeypatch.setattr("os.getuid", lambda: home.stat().st_uid + 1)
    with pytest.raises(
        SettingsError, match="which another user runs: if it is yours, name it by MAILROOM_HOME="
    ) as said:
        find_site(load_settings(CommandsSettings))
    assert "canary" not in str(said.value)
    monkeypatch.setenv("MAILROOM_HOME", str(said.value).rpartition("=")[2])
    assert find_site(load_settings(CommandsSettings)).key == "key-canary"


def test_key_of_the_environment_is_not_sent_where_a_file_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_site_here(home)
    monkeypatch.setenv("MAILROOM_API_KEY", "key-canary")
    monkeypatch.setenv("MAILROOM_PUBLIC_URL", "https://mail.example")
    site = find_site(load_settings(CommandsSettings))
    assert site.locate_path("/messages") == "https://mail.example/messages"


@pytest.mark.parametrize("service", ["http://127.0.0.1:1", "http://attacker.example"])
def test_key_of_the_environment_goes_to_a_site_of_this_user_on_this_machine_only(
    home: Path, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    run_site_here(home, subscription_manager=service)
    monkeypatch.setenv("MAILROOM_API_KEY", "key-canary")
    is_sent = find_site(load_settings(CommandsSettings)).key == "key-canary"
    assert is_sent == (service == "http://127.0.0.1:1")
    monkeypatch.setattr("os.getuid", lambda: 12345)
    assert find_site(load_settings(CommandsSettings)).key == "here-canary"


def open_api(*answers: httpx.Response) -> tuple[SiteAPI, list[httpx.Request]]:
    waiting, seen = list(answers), list[httpx.Request]()

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return waiting.pop(0)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    return SiteAPI(SiteAddress("http://site", "key-canary"), http), seen


def test_list_is_read_over_its_pages() -> None:
    api, seen = open_api(
        httpx.Response(200, json={"items": [{"id": 1}], "next_cursor": "c"}),
        httpx.Response(200, json={"items": [{"id": 2}], "next_cursor": None}),
    )
    assert api.list_items("/doc-sources", {"state": "x"}) == [{"id": 1}, {"id": 2}]
    assert [dict(request.url.params) for request in seen] == [
        {"limit": "200", "state": "x"},
        {"limit": "200", "state": "x", "cursor": "c"},
    ]
    assert seen[0].headers["authorization"] == "Bearer key-canary"


def test_refusal_has_the_services_own_words() -> None:
    problem = {"title": "The request is not valid", "errors": [{"loc": ["body", "address"], "msg": "no address"}]}
    api, _ = open_api(httpx.Response(422, json=problem))
    with pytest.raises(Rejected, match=r"answers 422: The request is not valid\. address: no address\."):
        api.call("POST", "/doc-sources")


def test_half_an_id_is_refused_in_one_sentence_that_says_where_the_whole_one_is() -> None:
    wrong = {"loc": ["path", "document_id"], "msg": "Input should be a valid UUID, invalid length: found 8"}
    problem = {"title": "Malformed id", "detail": "document_id: a UUID is needed.", "errors": [wrong]}
    api, _ = open_api(httpx.Response(400, json=problem))
    with pytest.raises(Rejected) as refused:
        api.call("GET", "/documents/eb79df23")
    sentence = "document_id: a UUID is needed. Lists show the whole id; the beginning of one is not enough here."
    assert str(refused.value).endswith(f"Malformed id. {sentence}")


def test_service_that_is_away_is_no_refusal() -> None:
    api, _ = open_api(httpx.Response(503, text="<html>"))
    with pytest.raises(Unavailable, match="503"):
        api.call("GET", "/doc-sources")


def test_kafka_of_a_site_that_runs_here_is_taken_where_the_environment_names_none(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_site_here(home)
    assert load_kafka_settings().kafka_bootstrap == "127.0.0.1:4"
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "127.0.0.1:9")
    assert load_kafka_settings().kafka_bootstrap == "127.0.0.1:9"


def test_without_kafka_the_variable_and_the_way_to_a_site_are_named() -> None:
    with pytest.raises(SettingsError, match=r"MAILROOM_KAFKA_BOOTSTRAP is not set.*`make up`"):
        load_kafka_settings()


def test_a_password_goes_to_no_kafka_that_another_users_file_names(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_site_here(home)
    monkeypatch.setenv("MAILROOM_KAFKA_PASSWORD", "canary")
    monkeypatch.setattr("os.getuid", lambda: home.stat().st_uid + 1)
    with pytest.raises(SettingsError, match="not used unless it is named"):
        load_kafka_settings()


def test_no_kafka_beyond_this_machine_is_taken_from_a_file(home: Path) -> None:
    run_site_here(home, kafka="kafka.example:9092")
    with pytest.raises(SettingsError, match="not used unless it is named"):
        load_kafka_settings()

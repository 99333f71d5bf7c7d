import json
import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from mailroom_cli import doctor, outside_checks
from mailroom_cli.__main__ import app
from mailroom_cli.site_processes import SiteProcess


def run_doctor(*arguments: str, **environment: str) -> tuple[int, list[dict[str, Any]]]:
    result = CliRunner().invoke(app, ["doctor", "--json", *arguments], env=environment)
    return result.exit_code, json.loads(result.stdout)


@pytest.fixture
def answer_http(monkeypatch: pytest.MonkeyPatch) -> Any:
    def answer_http(answer: Any) -> None:
        transport = httpx.MockTransport(answer)
        monkeypatch.setattr(
            outside_checks, "open_client", lambda *_args, **_options: httpx.AsyncClient(transport=transport)
        )

    return answer_http


def test_nothing_set_is_a_failure_that_says_where_to_run_it_and_the_rest_is_skipped() -> None:
    code, results = run_doctor()
    assert code == 1
    assert [result["check"] for result in results if result["outcome"] == "failed"] == ["settings"]
    assert "variables of a process" in results[0]["next_step"]
    assert "docs/install.md" in results[0]["next_step"]
    assert {result["outcome"] for result in results[1:]} == {"skipped"}


@pytest.fixture
def run_site_processes(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run_site_processes(*processes: SiteProcess) -> None:
        for name in [name for name in os.environ if name.startswith("MAILROOM_")]:
            monkeypatch.delenv(name)
        monkeypatch.setattr(doctor, "find_site_processes", lambda: list(processes))

    return run_site_processes


def test_without_settings_of_its_own_it_checks_those_of_each_process_of_the_site_and_names_them(
    run_site_processes: Any, tmp_path: Path
) -> None:
    blobs = {"MAILROOM_BLOB_URL": f"file://{tmp_path}"}
    run_site_processes(
        SiteProcess("ingestion_api", blobs),
        SiteProcess("ingestion_worker", {**blobs, "MAILROOM_KAFKA_BOOTSTRAP": "kafka.example:1"}),
        SiteProcess("sync_engine_worker", None),
    )
    code, results = run_doctor("--only", "settings", "--only", "blobs")
    assert code == 1
    assert [(found["outcome"], found["check"], found["subject"], found["processes"]) for found in results] == [
        ("ok", "settings", "BlobSettings", ["ingestion_api", "ingestion_worker"]),
        ("ok", "blobs", f"file://{tmp_path}", ["ingestion_api", "ingestion_worker"]),
        ("failed", "settings", "KafkaSettings", ["ingestion_worker"]),
        ("skipped", "settings", "sync_engine_worker", []),
    ]
    assert "MAILROOM_BLOB_URL" not in os.environ


def test_what_no_process_of_the_site_has_is_skipped_and_what_one_of_them_has_is_not(
    run_site_processes: Any, tmp_path: Path
) -> None:
    run_site_processes(
        SiteProcess("webhook_gateway", {"MAILROOM_KAFKA_BOOTSTRAP": "127.0.0.1:1"}),
        SiteProcess("ingestion_api", {"MAILROOM_BLOB_URL": f"file://{tmp_path}"}),
    )
    _, results = run_doctor("--only", "blobs", "--only", "postgres")
    assert [(found["outcome"], found["check"]) for found in results] == [("skipped", "postgres"), ("ok", "blobs")]
    assert results[0]["processes"] == ["webhook_gateway", "ingestion_api"]


def test_settings_of_the_environment_go_before_those_of_a_site(run_site_processes: Any, tmp_path: Path) -> None:
    run_site_processes(SiteProcess("ingestion_api", {"MAILROOM_BLOB_URL": "file:///proc/none"}))
    code, results = run_doctor("--only", "blobs", MAILROOM_BLOB_URL=f"file://{tmp_path}")
    assert (code, results[0]["processes"]) == (0, [])


def test_unknown_check_is_refused_with_the_known_ones() -> None:
    result = CliRunner().invoke(app, ["doctor", "--only", "kafak"])
    assert result.exit_code == 2
    assert "there is no check kafak" in " ".join(result.output.split())


def test_each_failed_line_has_its_next_step_below_it() -> None:
    result = CliRunner().invoke(app, ["doctor", "--only", "blobs"], env={"MAILROOM_BLOB_URL": "file:///proc/none"})
    assert result.exit_code == 1
    line, step, counts = result.stdout.splitlines()
    assert line.startswith("failed  blobs")
    assert step.strip().startswith("→ check MAILROOM_BLOB_URL")
    assert counts == "0 ok, 1 failed, 0 skipped"


def test_blob_store_is_written_read_and_left_empty(tmp_path: Path) -> None:
    code, results = run_doctor("--only", "blobs", MAILROOM_BLOB_URL=f"file://{tmp_path}")
    assert (code, results[0]["outcome"]) == (0, "ok")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_wrong_setting_is_named_and_its_value_is_not_repeated() -> None:
    code, results = run_doctor("--only", "settings", MAILROOM_PUBLIC_URL="ftp://canary.example")
    assert code == 1
    assert "MAILROOM_PUBLIC_URL is wrong" in results[0]["finding"]
    assert "canary" not in json.dumps(results)


def test_malformed_token_key_is_found_without_a_database() -> None:
    code, results = run_doctor(
        "--only", "tokens", MAILROOM_TOKEN_KEYS="k1:short", MAILROOM_DATABASE_URL="postgresql://127.0.0.1:1/none"
    )
    assert code == 1
    assert "MAILROOM_TOKEN_KEYS" in results[0]["finding"]


def test_database_that_does_not_answer_is_said_with_its_settings() -> None:
    environment = {
        "MAILROOM_DATABASE_URL": "postgresql://127.0.0.1:1/none",
        "MAILROOM_TOKEN_KEYS": f"k1:{b64encode(bytes(32)).decode()}",
    }
    code, results = run_doctor("--only", "postgres", "--only", "tokens", **environment)
    assert code == 1
    assert [result["outcome"] for result in results] == ["failed", "failed"]
    assert "MAILROOM_DATABASE_URL" in results[0]["next_step"]


def test_webhook_on_loopback_cannot_be_called_by_a_provider() -> None:
    code, results = run_doctor("--only", "webhook", MAILROOM_PUBLIC_URL="http://127.0.0.1:8080")
    assert code == 1
    assert results[0]["finding"] == "no provider can call a loopback address"


@pytest.mark.parametrize(
    ("status", "is_echoed", "outcome"), [(200, True, "ok"), (200, False, "failed"), (404, True, "failed")]
)
def test_webhook_is_right_when_it_answers_the_handshake_with_the_token(
    answer_http: Any, status: int, is_echoed: bool, outcome: str
) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        token = request.url.params["validationToken"]
        return httpx.Response(status, text=token if is_echoed else "<html>sign in</html>")

    answer_http(answer)
    code, results = run_doctor(
        "--only", "webhook", MAILROOM_WEBHOOK_URL="https://hooks.example", MAILROOM_PUBLIC_URL="https://mail.example"
    )
    assert (code == 0, results[0]["outcome"]) == (outcome == "ok", outcome)
    assert asked[0].url.host == "hooks.example"
    assert asked[0].url.path == "/webhooks/outlook"


def test_provider_that_refuses_a_call_without_a_token_is_reachable_and_one_in_trouble_is_not(answer_http: Any) -> None:
    answer_http(lambda request: httpx.Response(503 if "graph" in request.url.host else 401))
    environment = {"MAILROOM_MICROSOFT_CLIENT_ID": "id", "MAILROOM_MICROSOFT_CLIENT_SECRET": "secret"}
    code, results = run_doctor("--only", "providers", **environment)
    assert code == 1
    found = {result["subject"].partition(" at ")[2].split("/")[2]: result["outcome"] for result in results[:2]}
    assert found == {"graph.microsoft.com": "failed", "login.microsoftonline.com": "ok"}


@pytest.mark.parametrize(("date", "outcome"), [("Sat, 28 Nov 2020 12:00:00 GMT", "failed"), ("none", "skipped")])
def test_clock_is_compared_with_the_providers(answer_http: Any, date: str, outcome: str) -> None:
    answer_http(lambda _request: httpx.Response(401, headers={"date": date}))
    environment = {"MAILROOM_MICROSOFT_CLIENT_ID": "id", "MAILROOM_MICROSOFT_CLIENT_SECRET": "secret"}
    _, results = run_doctor("--only", "clock", **environment)
    assert results[0]["outcome"] == outcome

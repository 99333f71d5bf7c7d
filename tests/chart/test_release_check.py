"""What `helm test` runs says what works and what does not, and its exit code agrees."""

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from chart.rendering import render
from chart_source import CHART


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Any:  # Any: a file of the chart, no module of ours
    spec = importlib.util.spec_from_file_location("check_release", CHART / "files" / "check_release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PATIENCE_S", 0)
    return module


@contextmanager
def serve_gateway(refusal: int) -> Iterator[str]:
    """Answers as a gateway does; a push gets the status of `refusal`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, b"{}")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            token = parse_qs(urlsplit(self.path).query).get("validationToken")
            self._answer(200, token[0].encode()) if token else self._answer(refusal, b"")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_release_that_works_passes(check: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with serve_gateway(refusal=401) as url:
        assert check.main([f"webhook-gateway={url}", f"webhooks={url}"]) == 0
    assert capsys.readouterr().out.count("ok ") == 3


def test_a_gateway_that_cannot_ask_kafka_fails(check: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with serve_gateway(refusal=503) as url:
        assert check.main([f"webhooks={url}"]) == 1
    assert "FAILED  synthetic notification: expected 401, got 503" in capsys.readouterr().out


def test_a_gateway_that_takes_any_push_fails(check: Any) -> None:
    with serve_gateway(refusal=202) as url:
        assert check.main([f"webhooks={url}"]) == 1


def test_a_process_that_does_not_answer_fails(check: Any) -> None:
    assert check.main(["sync-engine-api=http://127.0.0.1:9"]) == 1


def test_the_release_test_asks_every_process_and_pushes() -> None:
    (pod,) = [each for each in render("minimal") if each["kind"] == "Pod"]
    asked = dict(argument.split("=") for argument in pod["spec"]["containers"][0]["args"])
    services = {each["metadata"]["name"] for each in render("minimal") if each["kind"] == "Service"}
    assert {urlsplit(url).hostname for url in asked.values()} == services - {
        "mailroom-ingestion-api",
        "mailroom-subscription-manager",
        "mailroom-sync-engine-api",
    }
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"


def test_the_pod_of_the_release_test_stays_for_its_logs_to_be_read() -> None:
    (pod,) = [each for each in render("minimal") if each["kind"] == "Pod"]
    assert pod["metadata"]["annotations"]["helm.sh/hook-delete-policy"] == "before-hook-creation"

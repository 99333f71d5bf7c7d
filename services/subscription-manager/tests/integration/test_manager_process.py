"""The service as a process of its own: `python -m subscription_manager` with nothing but its environment."""

import os
import secrets
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

import httpx
import pytest
from manager_site import free_port

from mailroom_common.migrations import apply_migrations

pytestmark = pytest.mark.stack


def build_environment(database_url: str, kafka: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("MAILROOM_")},
        "MAILROOM_HTTP_PORT": str(free_port()),
        "MAILROOM_KAFKA_BOOTSTRAP": kafka,
        "MAILROOM_TOPIC_PREFIX": f"t{secrets.token_hex(4)}.",
        "MAILROOM_DATABASE_URL": database_url,
        "MAILROOM_TOKEN_KEYS": f"k1:{b64encode(secrets.token_bytes(32)).decode()}",
        "MAILROOM_API_KEYS": f"acme:admin:{sha256(b'key').hexdigest()}",
        "MAILROOM_PUBLIC_URL": "https://mailroom.example",
        "MAILROOM_MICROSOFT_CLIENT_ID": "client",
        "MAILROOM_MICROSOFT_CLIENT_SECRET": "secret-canary",
    }


@contextmanager
def start_process(env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-m", "subscription_manager"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def call_child(env: dict[str, str], path: str, method: str = "GET", **options: object) -> httpx.Response:
    """The first answer of the child, which takes a moment to listen."""
    transport = httpx.HTTPTransport(retries=8)
    with httpx.Client(
        base_url=f"http://127.0.0.1:{env['MAILROOM_HTTP_PORT']}", transport=transport, timeout=30
    ) as http:
        return http.request(method, path, headers={"authorization": "Bearer key"}, **options)  # type: ignore[arg-type]


async def test_pages_and_api_are_there_while_kafka_is_away_and_the_stop_is_in_time(postgres_url: str) -> None:
    await apply_migrations(postgres_url, {"mailroom_quota", "mailroom_tokens", "subscription_manager"})
    env = build_environment(postgres_url, kafka=f"127.0.0.1:{free_port()}")
    with start_process(env) as child:
        assert call_child(env, "/livez").status_code == 200
        ready = call_child(env, "/readyz")
        assert ready.status_code == 503
        assert "Kafka" in ready.text
        body = {"provider": "outlook", "profile": "invoice", "access": "delegated"}
        made = call_child(env, "/doc-sources", "POST", json=body)
        assert made.status_code == 201
        link = made.json()["authorize_url"]
        assert link.startswith("https://mailroom.example/oauth/outlook/authorize?ticket=")
        assert call_child(env, link.removeprefix("https://mailroom.example")).status_code == 200
        began = time.monotonic()
        child.send_signal(signal.SIGTERM)
        out, _ = child.communicate(timeout=15)
        assert time.monotonic() - began < 10
        assert child.returncode == 0
    assert "secret-canary" not in out
    assert link.partition("ticket=")[2] not in out


async def test_database_without_tables_ends_the_process_with_what_to_run(
    postgres_url: str, postgres_server_url: str
) -> None:
    with start_process(build_environment(postgres_server_url, kafka="127.0.0.1:1")) as child:
        out, _ = child.communicate(timeout=30)
    assert child.returncode == 1
    assert "run `mailroom migrate`" in out


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAILROOM_API_KEYS", "acme:king:00"),
        ("MAILROOM_TOKEN_KEYS", "k1:short"),
        ("MAILROOM_PUBLIC_URL", "mailroom.example"),
        ("MAILROOM_TENANTS", "{"),
        ("MAILROOM_DATABASE_URL", ""),
    ],
)
def test_wrong_setting_ends_the_process_with_its_name(postgres_url: str, name: str, value: str) -> None:
    with start_process(build_environment(postgres_url, kafka="127.0.0.1:1") | {name: value}) as child:
        _, err = child.communicate(timeout=30)
    assert child.returncode == 78
    assert name in err

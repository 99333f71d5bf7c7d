from pathlib import Path

import pytest
from pydantic import SecretStr

from mailroom_common.errors import SettingsError
from mailroom_common.settings import DatabaseSettings, PublicSettings, TokenSettings, load_settings
from mailroom_common.transport_security import is_loopback, trust_authorities


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (TokenSettings, PublicSettings):
        for name in kind.model_fields:
            monkeypatch.delenv(f"MAILROOM_{name.upper()}", raising=False)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.9.9.9", "::1", "[::1]"])
def test_this_machine_is_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "10.0.0.1", "localhost.example.com", "api.localhost", "127.0.0.1.nip.io", "0.0.0.0", "::"]
)
def test_everything_else_is_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("url", ["https://mail.example", "http://127.0.0.1:8080", "http://[::1]:8080"])
def test_https_and_this_machine_are_taken(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("MAILROOM_PUBLIC_URL", url)
    assert load_settings(PublicSettings).public_url == url


@pytest.mark.parametrize("url", ["http://mail.example", "http://127.0.0.1@mail.example", "HTTP://10.0.0.1"])
def test_plain_http_beyond_this_machine_needs_a_switch(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("MAILROOM_PUBLIC_URL", url)
    with pytest.raises(SettingsError, match=r"MAILROOM_PUBLIC_URL is wrong: http:// .*MAILROOM_INSECURE=1"):
        load_settings(PublicSettings)
    monkeypatch.setenv("MAILROOM_INSECURE", "1")
    assert load_settings(PublicSettings).public_url == url


@pytest.mark.parametrize("url", ["mail.example", "ftp://mail.example", "https://", ""])
def test_what_is_no_url_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("MAILROOM_INSECURE", "1")
    monkeypatch.setenv("MAILROOM_PUBLIC_URL", url)
    with pytest.raises(SettingsError, match="MAILROOM_PUBLIC_URL"):
        load_settings(PublicSettings)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p@127.0.0.1:5432/mailroom",
        "postgresql://u:p%40x@localhost/mailroom",
        "postgresql://u:p@[::1]:5432/mailroom",
        "postgresql:///mailroom?host=/run/postgresql",
        "postgresql://u:p@db.example/mailroom?sslmode=verify-full",
        "postgresql://u:p@one.example:5432,two.example/mailroom?sslmode=verify-full",
    ],
)
def test_local_and_verified_databases_are_taken(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("MAILROOM_DATABASE_URL", url)
    assert load_settings(DatabaseSettings).database_url.get_secret_value().startswith(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:canary@db.example/mailroom",
        "postgresql://u:canary@db.example/mailroom?sslmode=require",
        "postgresql://u:canary@db.example/mailroom?sslmode=verify-ca",
        "postgresql://u:canary@127.0.0.1,db.example/mailroom",
        "postgresql://u:canary@127.0.0.1/mailroom?host=db.example",
        "postgresql://u:canary@/mailroom?sslmode=verify-full",
        "postgres+asyncpg://u:canary@127.0.0.1/mailroom",
    ],
)
def test_database_that_is_not_verified_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("MAILROOM_DATABASE_URL", url)
    with pytest.raises(SettingsError, match="MAILROOM_DATABASE_URL is wrong") as refused:
        load_settings(DatabaseSettings)
    assert "canary" not in str(refused.value)


def test_the_switch_and_the_second_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_TOKEN_KEYS", "k:v")
    monkeypatch.setenv("MAILROOM_DATABASE_URL", "postgresql://u:p@127.0.0.1/mailroom")
    monkeypatch.setenv("MAILROOM_TOKEN_DATABASE_URL", "postgresql://u:p@db.example/tokens")
    with pytest.raises(SettingsError, match="MAILROOM_TOKEN_DATABASE_URL is wrong: beyond loopback"):
        load_settings(TokenSettings)
    monkeypatch.setenv("MAILROOM_INSECURE", "1")
    assert load_settings(TokenSettings).token_database_url.get_secret_value().endswith("db.example/tokens")


def test_verified_database_is_checked_against_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "authorities & more.pem"
    bundle.write_text("")
    monkeypatch.setenv("MAILROOM_CA_BUNDLE", str(bundle))
    monkeypatch.setenv("MAILROOM_DATABASE_URL", "postgresql://u:p@db.example/mailroom?sslmode=verify-full")
    url = load_settings(DatabaseSettings).database_url.get_secret_value()
    assert url.endswith("?sslmode=verify-full&sslrootcert=" + str(bundle).replace(" & ", "%20%26%20"))


def test_authorities_of_the_url_itself_stay() -> None:
    url = SecretStr("postgresql://u:p@db.example/mailroom?sslmode=verify-full&sslrootcert=/etc/own.pem")
    assert trust_authorities(url, "/other.pem") == url

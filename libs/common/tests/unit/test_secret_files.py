from pathlib import Path

import pytest
from pydantic import SecretStr

from mailroom_common.errors import SettingsError
from mailroom_common.secret_files import find_secret_paths, read_secret_files
from mailroom_common.settings import MailroomSettings, load_settings


class Service(MailroomSettings):
    api_keys: SecretStr
    pubsub_token: SecretStr | None = None
    blob_url: str = "file:///blobs"


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in Service.model_fields:
        monkeypatch.delenv(f"MAILROOM_{name.upper()}", raising=False)
    path = tmp_path / "keys"
    path.write_text("canary-value\n")
    monkeypatch.setenv("MAILROOM_API_KEYS_FILE", str(path))
    return path


def _refusal() -> str:
    with pytest.raises(SettingsError) as refused:
        load_settings(Service)
    assert "canary" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", "\n\n"])
def test_secret_is_the_content_of_the_file_without_its_last_newlines(secret: Path, ending: str) -> None:
    secret.write_bytes(b" two\nlines " + ending.encode())
    assert load_settings(Service).api_keys == SecretStr(" two\nlines ")


def test_optional_secret_may_come_as_a_file_too(secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_PUBSUB_TOKEN_FILE", str(secret))
    assert load_settings(Service).pubsub_token == SecretStr("canary-value")


@pytest.mark.usefixtures("secret")
def test_variable_and_file_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_API_KEYS", "canary-other")
    assert _refusal() == "MAILROOM_API_KEYS and MAILROOM_API_KEYS_FILE are both set: keep one of them."


def test_empty_variable_beside_a_file_counts_as_not_set(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # as above
    monkeypatch.setenv("MAILROOM_API_KEYS", "")
    assert load_settings(Service).api_keys == SecretStr("canary-value")


def test_missing_file_is_named_and_not_called_a_missing_setting(secret: Path) -> None:
    secret.unlink()
    assert _refusal() == f"MAILROOM_API_KEYS_FILE is wrong: {secret}: No such file or directory."


@pytest.mark.parametrize(("content", "reason"), [(b"\n", "the file is empty"), (b"canary\xff", "not UTF-8 text")])
def test_file_without_a_secret_is_refused(secret: Path, content: bytes, reason: str) -> None:
    secret.write_bytes(content)
    assert reason in _refusal()


def test_all_mistakes_are_named_in_one_go(secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret.unlink()
    monkeypatch.setenv("MAILROOM_PUBSUB_TOKEN_FILE", str(secret.parent))
    monkeypatch.setenv("MAILROOM_INSECURE", "perhaps")
    said = _refusal()
    assert all(name in said for name in ("API_KEYS_FILE", "PUBSUB_TOKEN_FILE", "MAILROOM_INSECURE"))


def test_only_secrets_come_as_files(secret: Path) -> None:
    found = read_secret_files(Service, {"MAILROOM_BLOB_URL_FILE": str(secret)})
    assert (found.values, found.mistakes) == ({}, {})


def test_secret_paths_are_those_of_our_settings_and_of_cloud_libraries() -> None:
    environment = {
        "MAILROOM_API_KEYS_FILE": "/secrets/keys",
        "MAILROOM_KAFKA_KEY": "/secrets/kafka.pem",
        "MAILROOM_KAFKA_CA": "/etc/ca.pem",
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/secrets/token",
        "GOOGLE_APPLICATION_CREDENTIALS": "/secrets/account.json",
        "SSL_CERT_FILE": "/etc/ssl/cert.pem",
        "MAILROOM_OTHER_FILE": "",
    }
    paths = find_secret_paths(environment)
    named = {Path("/secrets") / name for name in ("keys", "kafka.pem", "token", "account.json")}
    assert named <= set(paths)
    assert {Path("/var/run/secrets"), Path.home() / ".aws"} <= set(paths)
    assert not {Path("/etc/ca.pem"), Path("/etc/ssl/cert.pem"), Path.cwd()} & set(paths)


def test_user_without_a_home_has_no_secrets_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", refuse)
    assert find_secret_paths({}) == [Path("/var/run/secrets")]

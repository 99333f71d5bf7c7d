import pytest

from mailroom_common.errors import SettingsError
from mailroom_common.settings import load_settings
from webhook_gateway.settings import Settings


@pytest.fixture(autouse=True)
def only_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "127.0.0.1:9092")


def test_kafka_is_all_that_it_needs() -> None:
    settings = load_settings(Settings)

    assert settings.http_port == 8080
    assert settings.pubsub_token is None


def test_kafka_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAILROOM_KAFKA_BOOTSTRAP")

    with pytest.raises(SettingsError, match="MAILROOM_KAFKA_BOOTSTRAP"):
        load_settings(Settings)


@pytest.mark.parametrize("name", ["MAILROOM_PUBSUB_AUDIENCE", "MAILROOM_PUBSUB_SERVICE_ACCOUNT"])
def test_audience_and_service_account_are_needed_together(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "x")

    with pytest.raises(SettingsError, match="MAILROOM_PUBSUB_AUDIENCE and MAILROOM_PUBSUB_SERVICE_ACCOUNT"):
        load_settings(Settings)


def test_a_proxy_that_is_no_network_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_TRUSTED_PROXIES", "10.0.0.0/8, everybody")

    with pytest.raises(SettingsError, match="MAILROOM_TRUSTED_PROXIES"):
        load_settings(Settings)


def test_the_push_timeout_is_below_what_graph_calls_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_PUSH_TIMEOUT_S", "5")

    with pytest.raises(SettingsError, match="MAILROOM_PUSH_TIMEOUT_S"):
        load_settings(Settings)

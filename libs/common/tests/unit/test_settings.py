from pathlib import Path

import pytest
from pydantic import SecretStr

from mailroom_common.errors import SettingsError
from mailroom_common.settings import (
    APISettings,
    BlobSettings,
    KafkaSettings,
    MailroomSettings,
    ProcessSettings,
    ProviderSettings,
    PublicSettings,
    TokenSettings,
    load_settings,
)


class Service(ProcessSettings, KafkaSettings):
    http_port: int = 8081


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Service, TokenSettings, BlobSettings, APISettings, PublicSettings, ProviderSettings):
        for name in kind.model_fields:
            monkeypatch.delenv(f"MAILROOM_{name.upper()}", raising=False)
            monkeypatch.delenv(f"MAILROOM_{name.upper()}_FILE", raising=False)


def _refusal(kind: type[MailroomSettings]) -> str:
    with pytest.raises(SettingsError) as refused:
        load_settings(kind)
    return str(refused.value)


def _find_mistakes(kind: type[MailroomSettings]) -> set[str]:
    with pytest.raises(SettingsError) as refused:
        load_settings(kind)
    return set(refused.value.mistakes)


def test_missing_value_is_named() -> None:
    assert _refusal(Service) == "MAILROOM_KAFKA_BOOTSTRAP is not set."


def test_empty_value_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "")
    assert _refusal(Service) == "MAILROOM_KAFKA_BOOTSTRAP is not set."


def test_every_wrong_value_is_named_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_HTTP_PORT", "eighty")
    monkeypatch.setenv("MAILROOM_LOG_LEVEL", "loud")
    said = _refusal(Service)
    assert "MAILROOM_HTTP_PORT is wrong" in said
    assert "MAILROOM_LOG_LEVEL is wrong" in said
    assert "MAILROOM_KAFKA_BOOTSTRAP is not set." in said


def test_refusal_never_repeats_what_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_HTTP_PORT", "canary-value")
    monkeypatch.setenv("MAILROOM_TENANTS", "{canary-value")
    monkeypatch.setenv("MAILROOM_PUBLIC_URL", "canary-value")
    for kind in (Service, APISettings, PublicSettings):
        assert "canary-value" not in _refusal(kind)


@pytest.mark.parametrize("tenants", ["acme=example.com", "[1]"])
def test_json_that_is_none_is_named_beside_the_other_faults(monkeypatch: pytest.MonkeyPatch, tenants: str) -> None:
    monkeypatch.setenv("MAILROOM_API_KEYS", "")
    monkeypatch.setenv("MAILROOM_TENANTS", tenants)
    assert _find_mistakes(APISettings) == {
        "MAILROOM_API_KEYS is not set.",
        "MAILROOM_TENANTS is wrong: a JSON object is needed.",
    }


def test_rules_over_several_settings_are_told_beside_what_is_wrong_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_LOG_LEVEL", "loud")
    monkeypatch.setenv("MAILROOM_HEALTH_PORT", "8081")
    monkeypatch.setenv("MAILROOM_KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
    monkeypatch.setenv("MAILROOM_KAFKA_SASL_MECHANISM", "ROT13")
    monkeypatch.setenv("MAILROOM_KAFKA_USERNAME", "ada")
    found = _find_mistakes(Service)
    assert {
        "MAILROOM_KAFKA_BOOTSTRAP is not set.",
        "MAILROOM_KAFKA_PASSWORD is not set: SASL_SSL needs it.",
        "MAILROOM_HEALTH_PORT and MAILROOM_HTTP_PORT are the same port.",
    } <= found
    assert {mistake.split()[0] for mistake in found} == {
        "MAILROOM_LOG_LEVEL",
        "MAILROOM_KAFKA_SASL_MECHANISM",  # that it is missing would follow from its being wrong
        "MAILROOM_KAFKA_BOOTSTRAP",
        "MAILROOM_KAFKA_PASSWORD",
        "MAILROOM_HEALTH_PORT",
    }


def test_a_secret_whose_file_is_away_is_not_missing_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "kafka.example:9092")
    monkeypatch.setenv("MAILROOM_KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
    monkeypatch.setenv("MAILROOM_KAFKA_SASL_MECHANISM", "PLAIN")
    monkeypatch.setenv("MAILROOM_KAFKA_USERNAME", "ada")
    monkeypatch.setenv("MAILROOM_KAFKA_PASSWORD_FILE", str(tmp_path / "none"))
    (mistake,) = _find_mistakes(Service)
    assert mistake.startswith("MAILROOM_KAFKA_PASSWORD_FILE is wrong")


def test_a_wrong_database_is_named_once_and_not_as_that_of_the_tokens_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_DATABASE_URL", "postgresql://db.example/mail")
    monkeypatch.setenv("MAILROOM_TOKEN_KEYS", "k:v")
    (mistake,) = _find_mistakes(TokenSettings)
    assert mistake.startswith("MAILROOM_DATABASE_URL is wrong: beyond loopback")


def test_a_wrong_permission_for_open_connections_makes_no_address_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_INSECURE", "perhaps")
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "kafka.example:9092")
    monkeypatch.setenv("MAILROOM_PUBLIC_URL", "http://mail.example")
    for kind in (Service, PublicSettings):
        (mistake,) = _find_mistakes(kind)
        assert mistake.startswith("MAILROOM_INSECURE is wrong")


def test_wrong_shape_in_json_is_named_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_API_KEYS", "acme:viewer:00")
    monkeypatch.setenv("MAILROOM_TENANTS", '{"acme": {"domain": ["example.com"]}}')
    assert _refusal(APISettings).startswith("MAILROOM_TENANTS is wrong at acme.domain")


def test_defaults_are_those_of_the_design(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "127.0.0.1:9092")
    settings = load_settings(Service)
    assert (settings.http_host, settings.http_port, settings.kafka_replication) == ("127.0.0.1", 8081, 3)


def test_settings_are_frozen_and_ignore_what_other_services_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "127.0.0.1:9092")
    monkeypatch.setenv("MAILROOM_SOMETHING_ELSE", "1")
    settings = load_settings(Service)
    with pytest.raises(ValueError, match="frozen"):
        settings.kafka_bootstrap = "other"


def test_tokens_live_in_the_database_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_DATABASE_URL", "postgresql://localhost/one")
    monkeypatch.setenv("MAILROOM_TOKEN_KEYS", "k:v")
    assert load_settings(TokenSettings).token_database_url == SecretStr("postgresql://localhost/one")
    monkeypatch.setenv("MAILROOM_TOKEN_DATABASE_URL", "postgresql://localhost/two")
    assert load_settings(TokenSettings).token_database_url == SecretStr("postgresql://localhost/two")


def test_a_missing_database_is_named_once_and_not_as_that_of_the_tokens_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAILROOM_DATABASE_URL", raising=False)
    monkeypatch.setenv("MAILROOM_TOKEN_KEYS", "k:v")
    refusal = _refusal(TokenSettings)
    assert "MAILROOM_DATABASE_URL" in refusal
    assert "MAILROOM_TOKEN_DATABASE_URL" not in refusal


def test_unknown_token_store_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_DATABASE_URL", "postgresql://localhost/one")
    monkeypatch.setenv("MAILROOM_TOKEN_KEYS", "k:v")
    monkeypatch.setenv("MAILROOM_TOKEN_STORE", "shoebox")
    assert _refusal(TokenSettings).startswith("MAILROOM_TOKEN_STORE is wrong")


def test_reach_of_a_tenant_is_caseless_and_may_be_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_API_KEYS", "x")
    monkeypatch.setenv("MAILROOM_TENANTS", '{"a": ["Example.COM"], "b": {"domains": ["B.example"]}}')
    tenants = load_settings(APISettings).tenants
    assert tenants["a"].domains == tenants["a"].provider_tenants == {"example.com"}
    assert tenants["b"].domains == {"b.example"}
    assert tenants["b"].provider_tenants == frozenset()


def test_urls_lose_their_trailing_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_PUBLIC_URL", "https://mail.example/")
    assert load_settings(PublicSettings).public_url == "https://mail.example"


def test_providers_reach_us_at_the_public_url_unless_they_have_one_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAILROOM_PUBLIC_URL", "https://mail.example")
    assert load_settings(PublicSettings).webhook_base_url == "https://mail.example"
    monkeypatch.setenv("MAILROOM_WEBHOOK_URL", "https://hooks.example/")
    assert load_settings(PublicSettings).webhook_base_url == "https://hooks.example"


def test_health_port_is_not_the_port_of_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "127.0.0.1:9092")
    monkeypatch.setenv("MAILROOM_HEALTH_PORT", "8081")
    assert _refusal(Service) == "MAILROOM_HEALTH_PORT and MAILROOM_HTTP_PORT are the same port."
    monkeypatch.setenv("MAILROOM_HEALTH_PORT", "0")
    assert _refusal(Service).startswith("MAILROOM_HEALTH_PORT is wrong")


def test_missing_bundle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_CA_BUNDLE", "nowhere/ca.pem")
    assert _refusal(ProviderSettings).startswith("MAILROOM_CA_BUNDLE is wrong")


def test_misspelt_variable_is_suggested_for_the_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAILROOM_KAFKA_BOOTSTRAP", raising=False)
    monkeypatch.setenv("MAILROOM_KAFKA_BOOSTRAP", "127.0.0.1:9092")
    assert "MAILROOM_KAFKA_BOOTSTRAP is not set: is MAILROOM_KAFKA_BOOSTRAP meant as it?" in _refusal(Service)


def test_each_mistake_is_a_sentence_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_HTTP_PORT", "eighty")
    monkeypatch.setenv("MAILROOM_LOG_LEVEL", "loud")
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "127.0.0.1:9092")
    with pytest.raises(SettingsError) as refusal:
        load_settings(Service)
    assert len(refusal.value.mistakes) == 2

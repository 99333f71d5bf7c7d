"""What the settings of Kafka's security say about each other, and what clients are given."""

import asyncio
import ssl
from pathlib import Path

import pytest
import trustme
from pydantic import SecretStr

from mailroom_common.errors import SettingsError
from mailroom_common.kafka.client import create_admin_client, create_consumer, create_producer
from mailroom_common.kafka.security import KafkaSecurity
from mailroom_common.settings import KafkaSettings, load_settings

AUTHORITY = trustme.CA()
REMOTE = {"BOOTSTRAP": "kafka-1.example:9093,kafka-2.example:9093"}
SASL = {"SASL_MECHANISM": "SCRAM-SHA-512", "USERNAME": "mailroom", "PASSWORD": "canary"}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """`ca`, `cert` and `key` belong together; `other_key` is of another certificate."""
    issued, other = AUTHORITY.issue_cert("client"), AUTHORITY.issue_cert("client")
    made = {name: tmp_path / f"{name}.pem" for name in ("ca", "cert", "key", "other_key", "missing")}
    AUTHORITY.cert_pem.write_to_path(made["ca"])
    issued.private_key_pem.write_to_path(made["key"])
    issued.cert_chain_pems[0].write_to_path(made["cert"])
    other.private_key_pem.write_to_path(made["other_key"])
    return made


def read_settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> KafkaSettings:
    for name in KafkaSettings.model_fields:
        monkeypatch.delenv(f"MAILROOM_{name.upper()}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"MAILROOM_{'' if name == 'INSECURE' else 'KAFKA_'}{name}", value)
    return load_settings(KafkaSettings)


def refusal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    with pytest.raises(SettingsError) as refused:
        read_settings(monkeypatch, **variables)
    return str(refused.value)


@pytest.mark.parametrize("bootstrap", ["127.0.0.1:9092", "localhost:9092, [::1]:9092", "127.8.0.1:9092"])
def test_loopback_needs_no_security(monkeypatch: pytest.MonkeyPatch, bootstrap: str) -> None:
    assert read_settings(monkeypatch, BOOTSTRAP=bootstrap).kafka_security == KafkaSecurity()


@pytest.mark.parametrize("bootstrap", ["kafka:9092", "127.0.0.1:9092,10.0.0.1:9092", "localhost.example:9092"])
def test_plaintext_beyond_this_machine_is_refused_unless_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch, bootstrap: str
) -> None:
    assert "MAILROOM_INSECURE=1" in refusal(monkeypatch, BOOTSTRAP=bootstrap)
    sasl = {**SASL, "SECURITY_PROTOCOL": "SASL_PLAINTEXT"}
    assert "SASL_PLAINTEXT is not encrypted" in refusal(monkeypatch, BOOTSTRAP=bootstrap, **sasl)
    assert read_settings(monkeypatch, BOOTSTRAP=bootstrap, INSECURE="1").insecure
    assert read_settings(monkeypatch, BOOTSTRAP=bootstrap, INSECURE="1", **sasl).kafka_security.has_sasl


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"SECURITY_PROTOCOL": "SASL_SSL", **SASL, "USERNAME": ""}, "MAILROOM_KAFKA_USERNAME is not set: SASL_SSL"),
        ({"SECURITY_PROTOCOL": "SASL_SSL", **SASL, "PASSWORD": ""}, "MAILROOM_KAFKA_PASSWORD is not set: SASL_SSL"),
        (
            {"SECURITY_PROTOCOL": "SASL_SSL", **SASL, "SASL_MECHANISM": ""},
            "MAILROOM_KAFKA_SASL_MECHANISM is not set: SASL_SSL",
        ),
        ({"SECURITY_PROTOCOL": "SSL", **SASL}, "SASL_MECHANISM is set, but MAILROOM_KAFKA_SECURITY_PROTOCOL=SSL"),
        ({"SECURITY_PROTOCOL": "TLS"}, "MAILROOM_KAFKA_SECURITY_PROTOCOL is wrong"),
        ({"SECURITY_PROTOCOL": "SASL_SSL", **SASL, "SASL_MECHANISM": "GSSAPI"}, "MAILROOM_KAFKA_SASL_MECHANISM is"),
    ],
)
def test_each_disagreement_is_a_sentence_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], said: str
) -> None:
    answer = refusal(monkeypatch, **REMOTE, **variables)
    assert said in answer
    assert "canary" not in answer


def test_all_disagreements_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = refusal(monkeypatch, **REMOTE, USERNAME="mailroom", CERT="/nowhere.pem")
    for said in ("MAILROOM_KAFKA_USERNAME is set, but", "MAILROOM_KAFKA_CERT is set, but", "is not encrypted"):
        assert said in answer


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"CA": "missing"}, "MAILROOM_KAFKA_CA is wrong: there is no such file."),
        ({"CA": "key"}, "MAILROOM_KAFKA_CA is wrong: the file holds no certificates"),
        ({"CERT": "cert"}, "MAILROOM_KAFKA_KEY is not set: MAILROOM_KAFKA_CERT needs its private key."),
        ({"KEY": "key"}, "MAILROOM_KAFKA_CERT is not set"),
        ({"CERT": "cert", "KEY": "other_key"}, "MAILROOM_KAFKA_CERT and MAILROOM_KAFKA_KEY are of no use"),
        ({"CERT": "cert", "KEY": "missing"}, "MAILROOM_KAFKA_KEY is wrong: there is no such file."),
    ],
)
def test_files_that_are_of_no_use_are_named(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, Path], given: dict[str, str], said: str
) -> None:
    variables = {name: str(files[file]) for name, file in given.items()}
    assert said in refusal(monkeypatch, **REMOTE, SECURITY_PROTOCOL="SSL", **variables)


async def test_every_kind_of_client_gets_protocol_credentials_and_verified_tls(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, Path]
) -> None:
    given = {name: str(files[name.lower()]) for name in ("CA", "CERT", "KEY")}
    settings = read_settings(monkeypatch, **REMOTE, SECURITY_PROTOCOL="SASL_SSL", **SASL, **given)
    assert settings.kafka_security.password == SecretStr("canary")
    consumer, producer, admin = create_consumer(settings), create_producer(settings), create_admin_client(settings)
    for client in (consumer._client, producer.client, admin._client):  # which open the connections
        assert (client._security_protocol, client._sasl_mechanism) == ("SASL_SSL", "SCRAM-SHA-512")
        assert (client._sasl_plain_username, client._sasl_plain_password) == ("mailroom", "canary")
        assert client._ssl_context.verify_mode == ssl.CERT_REQUIRED
        assert client._ssl_context.check_hostname
        assert len(client._ssl_context.get_ca_certs()) == 1, "the given authority and no other"
    await asyncio.gather(consumer.stop(), producer.stop(), admin.close())

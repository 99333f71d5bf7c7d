"""The users of a secured site: each process proves itself by its own password, and none is a super user."""

import stat
from pathlib import Path

from cryptography.hazmat.primitives.serialization import load_pem_private_key

from mailroom_common.settings import KafkaSettings
from mailroom_common.topic_access import COMPONENTS
from mailroom_sandbox.site import environment
from mailroom_sandbox.site.services import SERVICES
from mailroom_sandbox.site.stack.ca import load_or_create_certificates
from mailroom_sandbox.site.stack.home import Home
from mailroom_sandbox.site.stack.kafka_security import ADMIN, BROKER, BrokerSecurity, prepare_broker_security

PORTS = dict(zip(environment.PORT_NAMES, range(20_000, 20_100), strict=False))


def prepare(folder: Path) -> BrokerSecurity:
    home = Home(folder)
    return prepare_broker_security(home, load_or_create_certificates(home.tls))


def test_passwords_are_kept_with_the_state_and_differ(tmp_path: Path) -> None:
    first, again = prepare(tmp_path), prepare(tmp_path)
    assert first == again
    assert len(set(first.passwords.values())) == len(COMPONENTS) + 2


def test_the_keystore_is_in_the_form_that_kafka_reads_and_for_its_owner_only(tmp_path: Path) -> None:
    keystore = prepare(tmp_path).keystore
    assert keystore.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    assert load_pem_private_key(keystore.read_bytes(), password=None)
    assert stat.S_IMODE(keystore.stat().st_mode) == 0o600


def test_only_broker_and_admin_are_super_users(tmp_path: Path) -> None:
    assert prepare(tmp_path).build_broker_settings()["super.users"] == f"User:{BROKER};User:{ADMIN}"


def test_each_process_gets_its_own_user_and_a_process_without_kafka_none(tmp_path: Path) -> None:
    security = prepare(tmp_path)
    site = environment.compose_environment(
        {},
        Home(tmp_path),
        PORTS,
        kafka="127.0.0.1:1",
        database="postgresql://x",
        access=environment.build_kafka_access(security),
    )
    users = {
        service.name: site.build_service_environment(service, PORTS).get("MAILROOM_KAFKA_USERNAME")
        for service in SERVICES
    }
    connected = {component.name.replace("-", "_"): component.default_user for component in COMPONENTS}
    assert users == {**dict.fromkeys(users), **connected}
    assert site.build_command_environment("topics", [KafkaSettings])["MAILROOM_KAFKA_USERNAME"] == ADMIN

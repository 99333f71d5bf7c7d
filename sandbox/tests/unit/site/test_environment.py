import hashlib
from pathlib import Path

import pytest

from mailroom_sandbox.site import environment
from mailroom_sandbox.site.services import SERVICES
from mailroom_sandbox.site.stack.home import Home

PORTS = dict(zip(environment.PORT_NAMES, range(20_000, 20_100), strict=False))


def test_what_the_environment_gives_is_never_replaced(tmp_path: Path) -> None:
    given = {
        "MAILROOM_API_KEYS": "t:admin:00",
        "MAILROOM_TOKEN_KEYS": "k:x",
        "MAILROOM_PUBLIC_URL": "https://mail.example",
        "MAILROOM_KAFKA_BOOTSTRAP": "kafka:9092",
        "MAILROOM_DATABASE_URL": "postgresql://db/x",
        "MAILROOM_BLOB_URL": "s3://bucket",
    }
    site = environment.compose_environment(given, Home(tmp_path), PORTS, kafka=None, database=None)
    assert given.items() <= site.shared.items()
    assert site.api_key is None
    assert "MAILROOM_KAFKA_REPLICATION" not in site.shared, "a site's own Kafka has its own replication"


def test_what_is_lacking_is_made_once_and_kept(tmp_path: Path) -> None:
    first = environment.compose_environment({}, Home(tmp_path), PORTS, kafka="127.0.0.1:1", database="postgresql://x")
    again = environment.compose_environment({}, Home(tmp_path), PORTS, kafka="127.0.0.1:1", database="postgresql://x")
    assert first == again
    assert first.api_key is not None
    digest = hashlib.sha256(first.api_key.encode()).hexdigest()
    assert first.shared["MAILROOM_API_KEYS"] == f"sandbox:admin:{digest}"
    assert first.shared["MAILROOM_PUBLIC_URL"] == f"https://127.0.0.1:{PORTS['front']}"


def test_each_service_has_a_port_and_a_group_membership_of_its_own(tmp_path: Path) -> None:
    site = environment.compose_environment(
        {"MAILROOM_HTTP_PORT": "1"}, Home(tmp_path), PORTS, kafka="127.0.0.1:1", database="postgresql://x"
    )
    own = [site.build_service_environment(service, PORTS) for service in SERVICES]
    assert len({each["MAILROOM_HTTP_PORT"] for each in own}) == len(SERVICES)
    assert len({each["MAILROOM_INSTANCE_ID"] for each in own}) == len(SERVICES)


@pytest.mark.parametrize("wrong", ["https", "0", "70000"])
def test_wrong_front_port_is_named(wrong: str) -> None:
    (mistake,) = environment.find_port_mistakes({"MAILROOM_FRONT_PORT": wrong})
    assert mistake.startswith("MAILROOM_FRONT_PORT is wrong")
    assert environment.fixed_ports({"MAILROOM_FRONT_PORT": wrong}) == {}

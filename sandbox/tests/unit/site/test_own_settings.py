"""What each process of a site is given, and what it is not."""

from pathlib import Path

import pytest

from mailroom_sandbox.site import environment
from mailroom_sandbox.site.own_settings import move_secrets_to_files, select_own_settings, select_sandbox_settings
from mailroom_sandbox.site.services import SERVICES
from mailroom_sandbox.site.settings_classes import list_all_classes
from mailroom_sandbox.site.stack.home import Home

PORTS = dict(zip(environment.PORT_NAMES, range(20_000, 20_100), strict=False))
GIVEN = {
    "PATH": "/bin",
    "AWS_SECRET_ACCESS_KEY": "aws",
    "PGPASSWORD": "pg",
    "MAILROOM_GOOGLE_CLIENT_SECRET": "google",
    "MAILROOM_MICROSOFT_CLIENT_SECRET_FILE": "/run/secrets/microsoft",
    "MAILROOM_PUBSUB_TOKEN": "pubsub",
    "MAILROOM_ROLE_INGESTION_PASSWORD": "role",
    "MAILROOM_SANDBOX_STATE": "/state",
}


@pytest.fixture
def environments(tmp_path: Path) -> dict[str, dict[str, str]]:
    site = environment.compose_environment(
        GIVEN, Home(tmp_path), PORTS, kafka="127.0.0.1:1", database="postgresql://127.0.0.1/x"
    )
    return {service.name: site.build_service_environment(service, PORTS) for service in SERVICES}


def _holders(environments: dict[str, dict[str, str]], variable: str) -> set[str]:
    return {name for name, own in environments.items() if variable in own}


def test_a_secret_is_given_to_the_services_that_read_it_and_to_no_other(
    environments: dict[str, dict[str, str]],
) -> None:
    callers = {"subscription_manager", "sync_engine_worker"}
    apis = {"subscription_manager", "ingestion_api", "sync_engine_api"}
    blobs = {"sync_engine_worker", "ingestion_worker", "ingestion_api"}
    # Ingestion seals the passwords of locked documents with them.
    assert _holders(environments, "MAILROOM_TOKEN_KEYS") == callers | {"ingestion_worker", "ingestion_api"}
    assert _holders(environments, "MAILROOM_GOOGLE_CLIENT_SECRET") == callers
    assert _holders(environments, "MAILROOM_MICROSOFT_CLIENT_SECRET_FILE") == callers
    assert _holders(environments, "MAILROOM_API_KEYS") == apis
    assert _holders(environments, "MAILROOM_PUBSUB_TOKEN") == {"webhook_gateway"}
    assert _holders(environments, "MAILROOM_DATABASE_URL") == apis | blobs
    assert _holders(environments, "AWS_SECRET_ACCESS_KEY") == blobs
    assert _holders(environments, "PGPASSWORD") == apis | blobs
    assert _holders(environments, "MAILROOM_ROLE_INGESTION_PASSWORD") == set()
    assert _holders(environments, "MAILROOM_SANDBOX_STATE") == set()
    assert _holders(environments, "PATH") == environments.keys()


def test_process_whose_classes_are_not_there_keeps_everything() -> None:
    assert select_own_settings(GIVEN, []) == GIVEN


def test_provider_doubles_have_none_of_the_services_settings() -> None:
    assert select_sandbox_settings(GIVEN) == {"PATH": "/bin", "MAILROOM_SANDBOX_STATE": "/state"}


def test_secrets_become_files_that_only_their_owner_reads(
    environments: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    (gateway,) = [service for service in SERVICES if service.name == "webhook_gateway"]
    kinds = list_all_classes(gateway)
    folder = tmp_path / "secrets" / "webhook_gateway"
    for _ in range(2):  # a restarted process is given its files anew
        moved = move_secrets_to_files(environments["webhook_gateway"], kinds, folder)
    path = Path(moved["MAILROOM_PUBSUB_TOKEN_FILE"])
    assert "MAILROOM_PUBSUB_TOKEN" not in moved
    assert path.read_text() == "pubsub"
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "pubsub" not in moved.values()


def test_setting_that_came_as_a_file_is_not_made_up_beside_it(tmp_path: Path) -> None:
    given = {"MAILROOM_API_KEYS_FILE": "/run/secrets/keys", "MAILROOM_TOKEN_KEYS_FILE": "/run/secrets/tokens"}
    site = environment.compose_environment(given, Home(tmp_path), PORTS, kafka=None, database=None)
    assert site.api_key is None
    assert not {"MAILROOM_API_KEYS", "MAILROOM_TOKEN_KEYS"} & site.shared.keys()

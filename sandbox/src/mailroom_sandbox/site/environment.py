"""The environment of the service processes: what the site's own says, and what only a run on one machine lacks."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mailroom_common.secret_files import SUFFIX
from mailroom_common.topic_access import COMPONENTS
from mailroom_sandbox.site.own_settings import move_secrets_to_files, select_own_settings
from mailroom_sandbox.site.services import SERVICES, Service
from mailroom_sandbox.site.settings_classes import SettingsClasses, list_all_classes
from mailroom_sandbox.site.stack.home import Home
from mailroom_sandbox.site.stack.kafka_security import ADMIN, BrokerSecurity
from mailroom_sandbox.site.stack.postgres import DATABASE, Postgres
from mailroom_sandbox.site.stack.postgres_security import DatabaseSecurity

TENANT = "sandbox"
# `front` is the reverse proxy, by the name that `MAILROOM_FRONT_PORT` and `ports.json` have for it.
PORT_NAMES = ("kafka", "kafka_controller", "postgres", "front", *(service.name for service in SERVICES))


def fixed_ports(environment: Mapping[str, str]) -> dict[str, int]:
    """Of what is no port number `find_port_mistakes` says so, beside all other faults."""
    port = environment.get("MAILROOM_FRONT_PORT")
    return {"front": int(port)} if port is not None and _is_port(port) else {}


def find_port_mistakes(environment: Mapping[str, str]) -> list[str]:
    port = environment.get("MAILROOM_FRONT_PORT")
    is_right = port is None or _is_port(port)
    return [] if is_right else ["MAILROOM_FRONT_PORT is wrong: a port number is needed, 1 to 65535."]


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65536


@dataclass(frozen=True, slots=True)
class SiteAccess:
    """What the processes of a secured site prove themselves by: `admin` for the commands that set it up, and
    `services` by name. Empty where nothing is asked for."""

    admin: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


OPEN_ACCESS = SiteAccess()


@dataclass(frozen=True, slots=True)
class SiteEnvironment:
    """`shared` is what all services get; `api_key` is None when the environment brought `MAILROOM_API_KEYS`."""

    shared: Mapping[str, str]
    api_key: str | None
    access: SiteAccess = OPEN_ACCESS
    secrets_folder: Path | None = None  # where secrets are written as files; None leaves them in the environment

    def build_command_environment(self, name: str, kinds: SettingsClasses) -> dict[str, str]:
        """For a `mailroom` command that sets up the site and reads these classes."""
        return self._hand_out(name, {**self.shared, **self.access.admin}, kinds)

    def build_service_environment(self, service: Service, ports: Mapping[str, int]) -> dict[str, str]:
        # A name of its own makes a consumer a static member of its group: a restarted process goes on with its
        # partitions at once, where a dynamic one would wait until its dead self has timed out.
        instance = self.shared.get("MAILROOM_INSTANCE_ID", "sandbox")
        environment = {
            **self.shared,
            **self.access.services.get(service.name, {}),
            "MAILROOM_HTTP_HOST": "127.0.0.1",
            "MAILROOM_HTTP_PORT": str(ports[service.name]),
            "MAILROOM_INSTANCE_ID": f"{instance}-{service.name}",
        }
        return self._hand_out(service.name, environment, list_all_classes(service))

    def _hand_out(self, name: str, environment: Mapping[str, str], kinds: SettingsClasses) -> dict[str, str]:
        own = select_own_settings(environment, kinds)
        return own if self.secrets_folder is None else move_secrets_to_files(own, kinds, self.secrets_folder / name)


def compose_environment(
    environment: Mapping[str, str],
    home: Home,
    ports: Mapping[str, int],
    *,
    kafka: str | None,
    database: str | None,
    access: SiteAccess = OPEN_ACCESS,
    secrets_folder: Path | None = None,
) -> SiteEnvironment:
    """`kafka` and `database` are addresses of servers started here, None where the environment names its own."""
    api_key = None if names_setting(environment, "MAILROOM_API_KEYS") else home.read_or_create_secret("api_key")
    defaults = {
        "MAILROOM_TOKEN_KEYS": f"sandbox:{_token_key(home)}",
        "MAILROOM_PUBLIC_URL": f"https://127.0.0.1:{ports['front']}",
        "MAILROOM_TRUSTED_PROXIES": "127.0.0.1",
        "MAILROOM_BLOB_URL": home.blobs.as_uri(),
    }
    if api_key:
        defaults["MAILROOM_API_KEYS"] = f"{TENANT}:admin:{hashlib.sha256(api_key.encode()).hexdigest()}"
    if kafka:
        defaults |= {"MAILROOM_KAFKA_BOOTSTRAP": kafka, "MAILROOM_KAFKA_REPLICATION": "1"}
    if database:
        defaults["MAILROOM_DATABASE_URL"] = database
    made_up = {name: value for name, value in defaults.items() if not names_setting(environment, name)}
    shared = {**made_up, **environment, "PYTHONUNBUFFERED": "1"}
    return SiteEnvironment(shared, api_key, access, secrets_folder)


def names_setting(environment: Mapping[str, str], name: str) -> bool:
    """Whether it is given, as itself or as the file that holds it."""
    return name in environment or name + SUFFIX in environment


def build_site_access(kafka: BrokerSecurity | None, database: Postgres | None) -> SiteAccess:
    """Together, of the servers that were started here."""
    parts = [build_kafka_access(kafka)] if kafka else []
    if database is not None and database.security is not None:
        parts.append(build_database_access(database.security, database.port))
    return SiteAccess(
        {name: value for part in parts for name, value in part.admin.items()},
        {
            service.name: {name: value for part in parts for name, value in part.services.get(service.name, {}).items()}
            for service in SERVICES
        },
    )


def build_database_access(security: DatabaseSecurity, port: int) -> SiteAccess:
    services = {service.name: security.build_service_environment(service.name, port, DATABASE) for service in SERVICES}
    return SiteAccess(security.build_migrate_environment(), services)


def build_kafka_access(security: BrokerSecurity) -> SiteAccess:
    """A user for each process that connects to Kafka; the others get none."""
    services = {
        component.name.replace("-", "_"): security.build_client_environment(component.default_user)
        for component in COMPONENTS
    }
    return SiteAccess(security.build_client_environment(ADMIN), services)


def _token_key(home: Home) -> str:
    return base64.b64encode(hashlib.sha256(home.read_or_create_secret("token_key").encode()).digest()).decode()

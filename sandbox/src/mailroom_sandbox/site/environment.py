"""The environment of the service processes: what the site's own says, and what only a run on one machine lacks."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from mailroom_common.errors import SettingsError
from mailroom_common.topic_access import COMPONENTS
from mailroom_sandbox.site.services import SERVICES, Service
from mailroom_sandbox.site.stack.home import Home
from mailroom_sandbox.site.stack.kafka_security import ADMIN, BrokerSecurity

TENANT = "sandbox"
# `front` is the reverse proxy, by the name that `MAILROOM_FRONT_PORT` and `ports.json` have for it.
PORT_NAMES = ("kafka", "kafka_controller", "postgres", "front", *(service.name for service in SERVICES))


def fixed_ports(environment: Mapping[str, str]) -> dict[str, int]:
    port = environment.get("MAILROOM_FRONT_PORT")
    if port is None:
        return {}
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise SettingsError("MAILROOM_FRONT_PORT is wrong: a port number is needed.")
    return {"front": int(port)}


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

    def build_command_environment(self) -> dict[str, str]:
        """For `mailroom` commands that set up the site."""
        return {**self.shared, **self.access.admin}

    def build_service_environment(self, service: Service, ports: Mapping[str, int]) -> dict[str, str]:
        # A name of its own makes a consumer a static member of its group: a restarted process goes on with its
        # partitions at once, where a dynamic one would wait until its dead self has timed out.
        instance = self.shared.get("MAILROOM_INSTANCE_ID", "sandbox")
        return {
            **self.shared,
            **self.access.services.get(service.name, {}),
            "MAILROOM_HTTP_HOST": "127.0.0.1",
            "MAILROOM_HTTP_PORT": str(ports[service.name]),
            "MAILROOM_INSTANCE_ID": f"{instance}-{service.name}",
        }


def compose_environment(
    environment: Mapping[str, str],
    home: Home,
    ports: Mapping[str, int],
    *,
    kafka: str | None,
    database: str | None,
    access: SiteAccess = OPEN_ACCESS,
) -> SiteEnvironment:
    """`kafka` and `database` are addresses of servers started here, None where the environment names its own."""
    api_key = None if "MAILROOM_API_KEYS" in environment else home.read_or_create_secret("api_key")
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
    return SiteEnvironment({**defaults, **environment, "PYTHONUNBUFFERED": "1"}, api_key, access)


def build_kafka_access(security: BrokerSecurity) -> SiteAccess:
    """A user for each process that connects to Kafka; the others get none."""
    services = {
        component.name.replace("-", "_"): security.build_client_environment(component.default_user)
        for component in COMPONENTS
    }
    return SiteAccess(security.build_client_environment(ADMIN), services)


def _token_key(home: Home) -> str:
    return base64.b64encode(hashlib.sha256(home.read_or_create_secret("token_key").encode()).digest()).decode()

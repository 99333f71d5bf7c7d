"""Postgres' side of a secured site: TLS for every connection, and a role with a password for each service."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from mailroom_sandbox.site.stack.ca import Certificates
from mailroom_sandbox.site.stack.home import Home

# Which service uses which role; `mailroom migrate` has their rights. The gateway and the coalescer have no database.
SERVICE_ROLES: Mapping[str, str] = {
    "subscription_manager": "subscription_manager",
    "sync_engine_worker": "sync_engine",
    "sync_engine_api": "sync_engine_api",
    "ingestion_worker": "ingestion",
    "ingestion_api": "ingestion",
}


@dataclass(frozen=True, slots=True)
class DatabaseSecurity:
    """`passwords` are by role; `authorities` is what clients trust. TLS itself is `postgres_tls`."""

    authorities: Path
    passwords: Mapping[str, str]

    @property
    def url_query(self) -> str:
        """Behind the URL of a client: the certificate and the name of the server are checked."""
        return f"?sslmode=verify-full&sslrootcert={quote(str(self.authorities))}"

    def build_service_environment(self, service_name: str, port: int, database: str) -> dict[str, str]:
        role = SERVICE_ROLES.get(service_name)
        if role is None:
            return {}
        address = f"mailroom_{role}:{self.passwords[role]}@127.0.0.1:{port}/{database}"
        return {"MAILROOM_DATABASE_URL": f"postgresql://{address}{self.url_query}"}

    def build_migrate_environment(self) -> dict[str, str]:
        return {f"MAILROOM_ROLE_{role.upper()}_PASSWORD": password for role, password in self.passwords.items()}


def prepare_database_security(home: Home, certificates: Certificates) -> DatabaseSecurity:
    """A password for each role, kept with the state."""
    passwords = {
        role: home.read_or_create_secret(f"postgres_password_{role}") for role in sorted(set(SERVICE_ROLES.values()))
    }
    return DatabaseSecurity(certificates.bundle, passwords)

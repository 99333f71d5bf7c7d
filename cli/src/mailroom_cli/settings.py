"""What the commands read from the environment."""

import re

from pydantic import SecretStr, field_validator

from mailroom_common.settings import DatabaseSettings, TLSSettings
from mailroom_common.transport_security import HTTPSAddress

_ROLE_NAME = re.compile(r"[a-z_][a-z0-9_$-]{0,62}")


class MigrateSettings(DatabaseSettings):
    """Tokens may be in a database of their own; the keys that encrypt them are not needed here."""

    # `postgresql://…` of the role that owns all tables; beyond loopback with `?sslmode=verify-full`.
    database_url: SecretStr
    # `postgresql://…` of schemas `mailroom_tokens` and `mailroom_quota`; `MAILROOM_DATABASE_URL` where it is not set.
    token_database_url: SecretStr | None = None
    # Postgres role of subscription-manager.
    role_subscription_manager: str = "mailroom_subscription_manager"
    # Password that `--create-roles` gives it.
    role_subscription_manager_password: SecretStr | None = None
    # Postgres role of sync-engine's worker.
    role_sync_engine: str = "mailroom_sync_engine"
    # Password that `--create-roles` gives it.
    role_sync_engine_password: SecretStr | None = None
    # Postgres role of sync-engine's API, which reads, and sets when parked rows are tried again; where there is none,
    # the API uses the worker's.
    role_sync_engine_api: str = "mailroom_sync_engine_api"
    # Password that `--create-roles` gives it; without one it is not created.
    role_sync_engine_api_password: SecretStr | None = None
    # Postgres role of ingestion's worker and API.
    role_ingestion: str = "mailroom_ingestion"
    # Password that `--create-roles` gives it.
    role_ingestion_password: SecretStr | None = None
    # Postgres role of the outside job that shares `bo_airflow.email_ingestion_state`.
    role_outside_job: str = "mailroom_outside_job"
    # Password that `--create-roles` gives it; without one it is not created.
    role_outside_job_password: SecretStr | None = None

    @field_validator(
        "role_subscription_manager", "role_sync_engine", "role_sync_engine_api", "role_ingestion", "role_outside_job"
    )
    @classmethod
    def _a_role_name(cls, value: str) -> str:
        if not _ROLE_NAME.fullmatch(value):
            raise ValueError("a role is named by lower-case letters, digits, _, - and $, and begins with a letter or _")
        return value

    @field_validator(
        "role_subscription_manager_password",
        "role_sync_engine_password",
        "role_sync_engine_api_password",
        "role_ingestion_password",
        "role_outside_job_password",
    )
    @classmethod
    def _a_password(cls, value: SecretStr | None) -> SecretStr | None:
        # SCRAM normalises other characters, and the clients do not agree on how.
        if value is not None and not (value.get_secret_value().isascii() and value.get_secret_value().isprintable()):
            raise ValueError("a password of printable ASCII characters is needed")
        return value


class CommandsSettings(TLSSettings):
    """Of the commands that act through the services' APIs."""

    # Where the commands reach the APIs; `MAILROOM_PUBLIC_URL` where it is not set, else the site that runs here.
    api_url: HTTPSAddress | None = None
    # Key with which the commands call the APIs: it says for which tenant, and what they may do.
    api_key: SecretStr | None = None
    # Where providers and browsers reach this site.
    public_url: HTTPSAddress | None = None

"""Settings from the environment, prefix `MAILROOM_`: mixins that each service combines into its one frozen class.

`class Settings(ProcessSettings, KafkaSettings, DatabaseSettings): http_port: int = 8081`. A value that is missing or
wrong stops the process with a sentence that names the variable, and never repeats the value: it may be a secret.
Every `SecretStr` NAME may also come as a file, whose path is `NAME_FILE` (`secret_files.py`).

A rule over several settings is a validator of the last of them, and reads those before it from `info.data`, which has
the valid ones only: so it is judged while other settings are wrong, and says nothing where one of its own is. A model
validator would wait until each setting is right by itself.
"""

import difflib
import os
import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import certifi
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from mailroom_common.errors import SettingsError
from mailroom_common.kafka.security import KafkaSecurity, SASLMechanism, SecurityProtocol, find_security_mistakes
from mailroom_common.secret_files import SecretFilesSource, read_secret_files
from mailroom_common.transport_security import HTTPSAddress, require_verified_database, trust_authorities

PREFIX = "MAILROOM_"

_MiB = 1024 * 1024
_KAFKA_SIGNS = frozenset(string.ascii_letters + string.digits + "._-")
_MAX_PREFIX = 100  # a name of Kafka has 249 signs, and ours are below a hundred
# Of a variable, which is a text always.
_WANTED = {
    "bool_parsing": "0 or 1 is needed",
    "int_parsing": "a whole number is needed",
    "float_parsing": "a number is needed",
}
_CONFLICT = "settings_conflict"


class _EnvironmentSource(EnvSettingsSource):
    """pydantic's own ends at the first variable that is not the JSON it should be, and no other fault is told."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:  # Any: pydantic's signature
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value  # a text, which the field refuses


class MailroomSettings(BaseSettings):
    """Unknown variables are ignored: the processes of a site share one environment. An empty one counts as not set."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    # `1` allows connections beyond this machine that are not encrypted or not verified: for sites without real mail.
    insecure: bool = False

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # pydantic's signature; ours goes on after a mistake
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # as above: not used here
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # as above: its files have fixed names
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, _EnvironmentSource(settings_cls), SecretFilesSource(settings_cls)


S = TypeVar("S", bound=BaseSettings)


def load_settings(kind: type[S], **given: Any) -> S:  # Any: whatever type a field has
    """The settings of the environment; `given` go before it.

    Raises:
        SettingsError: one sentence for each variable that is missing or wrong.
    """
    in_files = read_secret_files(kind).mistakes
    mistakes = list(in_files.values())
    try:
        settings = kind(**given)
    except ValidationError as error:
        mistakes += [
            _describe_mistake(detail)
            for detail in error.errors(include_input=False)
            if detail["loc"][0] not in in_files
        ]
    if mistakes:
        # Outside the `except`: pydantic's error repeats what was typed, which may be a key or a password.
        raise SettingsError(*mistakes)
    return settings


def _describe_mistake(detail: Any) -> str:  # Any: pydantic's ErrorDetails
    where = [str(step) for step in detail["loc"]]
    if detail["type"] == _CONFLICT:
        return f"{detail['msg'].removesuffix('.')}."
    inside = f" at {'.'.join(where[1:])}" if len(where) > 1 else ""
    if detail["type"] == "missing" and not inside:
        return f"{PREFIX}{where[0].upper()} is not set{_suggest_misspelt(where[0])}."
    if detail["type"] == "dict_type" and not inside:
        return f"{PREFIX}{where[0].upper()} is wrong: a JSON object is needed."
    wanted = _WANTED.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    return f"{PREFIX}{where[0].upper()} is wrong{inside}: {wanted}."


def _suggest_misspelt(name: str) -> str:
    """A variable that is nearly the missing one is most likely meant as it."""
    missing = PREFIX + name.upper()
    others = [given for given in os.environ if given.startswith(PREFIX) and given != missing]
    close = difflib.get_close_matches(missing, others, n=1, cutoff=0.9)
    return f": is {close[0]} meant as it?" if close else ""


def build_conflict(sentence: str) -> PydanticCustomError:
    """What a rule over several settings raises; the sentence names them."""
    return PydanticCustomError(_CONFLICT, "{sentence}", {"sentence": sentence})


def require_all_or_none(display_name: str, given: Mapping[str, object]) -> None:
    """Half of what a provider needs sets up nothing: whoever gave one of the variables meant all of them."""
    missing = [variable for variable, value in given.items() if not value]
    if missing and len(missing) < len(given):
        verb = "is" if len(missing) == 1 else "are"
        raise build_conflict(f"{display_name} is not set up: {' and '.join(missing)} {verb} missing")


@contextmanager
def replace_environment(environment: Mapping[str, str]) -> Iterator[None]:
    """For settings of another process: the classes read the environment of the one that they are in."""
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


class ProcessSettings(MailroomSettings):
    """What every service process has. A service overrides `http_port` with its own default (design 7.1)."""

    # Address that the HTTP server listens on.
    http_host: str = "127.0.0.1"
    # Port of the API; without a health port also of `/livez`, `/readyz` and `/metrics`.
    http_port: int
    # Port of `/livez`, `/readyz` and `/metrics` alone: no ingress shows them, and no flood of requests fails a probe.
    health_port: int | None = None
    # Name of this copy of the process: in every log line, and in Kafka a static group member, so that a restart keeps
    # its partitions.
    instance_id: str | None = None
    # Lowest level that is logged.
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    # A validator and not a bound of the field: a service that gives its own default would drop the bound.
    @field_validator("http_port", "health_port")
    @classmethod
    def _a_port(cls, value: int | None) -> int | None:
        if value is not None and not 0 < value < 65536:
            raise ValueError("a port is between 1 and 65535")
        return value

    @field_validator("health_port")
    @classmethod
    def _two_ports(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and value == info.data.get("http_port"):
            raise build_conflict("MAILROOM_HEALTH_PORT and MAILROOM_HTTP_PORT are the same port")
        return value


# The settings by what `KafkaSecurity` calls them.
_KAFKA_SECURITY = {
    "protocol": "kafka_security_protocol",
    "mechanism": "kafka_sasl_mechanism",
    "username": "kafka_username",
    "password": "kafka_password",
    "ca": "kafka_ca",
    "cert": "kafka_cert",
    "key": "kafka_key",
}


class KafkaSettings(MailroomSettings):
    # Brokers to start from, comma-separated `host:port`.
    kafka_bootstrap: str
    # Copies of each partition of a topic that is created.
    kafka_replication: int = Field(default=3, ge=1)
    # Put before every topic and group name, for several sites on one Kafka.
    topic_prefix: str = ""
    # How brokers are spoken to: `SASL_SSL` and `SSL` with TLS; the other two, without, on loopback only.
    kafka_security_protocol: SecurityProtocol = "PLAINTEXT"
    # How the password is proved: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`; with the protocols that begin with SASL.
    kafka_sasl_mechanism: SASLMechanism | None = None
    # User name at Kafka, with SASL.
    kafka_username: str | None = None
    # Password at Kafka, with SASL.
    kafka_password: SecretStr | None = None
    # File (PEM) with the authorities that brokers' certificates are checked against, instead of the system's.
    kafka_ca: Path | None = None
    # File (PEM) with our certificate and its chain, where Kafka asks clients for one.
    kafka_cert: Path | None = None
    # File (PEM) with the private key of `MAILROOM_KAFKA_CERT`, not encrypted.
    kafka_key: Path | None = Field(default=None, validate_default=True)

    @field_validator("topic_prefix")
    @classmethod
    def _kafka_takes_it(cls, value: str) -> str:
        if len(value) > _MAX_PREFIX or not _KAFKA_SIGNS.issuperset(value):
            raise ValueError(f"at most {_MAX_PREFIX} letters, digits, `.`, `_` and `-` are needed, as Kafka takes them")
        return value

    @property
    def kafka_security(self) -> KafkaSecurity:
        return KafkaSecurity(**{name: getattr(self, field) for name, field in _KAFKA_SECURITY.items()})

    @field_validator("kafka_key")
    @classmethod
    def _agree_on_security(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        valid = {**info.data, "kafka_key": value}
        given = {name: valid[field] for name, field in _KAFKA_SECURITY.items() if field in valid}
        # A wrong MAILROOM_INSECURE may have been meant as 1.
        is_insecure_allowed = valid.get("insecure", True)
        mistakes = find_security_mistakes(
            KafkaSecurity(**given),
            valid.get("kafka_bootstrap"),
            is_insecure_allowed,
            wrong=_KAFKA_SECURITY.keys() - given.keys(),
        )
        if mistakes:
            raise build_conflict(" ".join(mistakes))
        return value


class CABundleSettings(MailroomSettings):
    """Given to every client as an explicit context; the environment's own variables are not trusted."""

    # File with the certificate authorities of providers, Postgres and S3, instead of certifi's.
    ca_bundle: Path | None = None

    @field_validator("ca_bundle")
    @classmethod
    def _readable(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            raise ValueError("there is no such file")
        return value


class DatabaseSettings(CABundleSettings):
    # `postgresql://…` of the service's own schema and role; beyond loopback with `?sslmode=verify-full`.
    database_url: SecretStr
    # Most connections to Postgres at once.
    database_pool_size: int = Field(default=10, ge=2)

    # Also of a class that is derived from this one and has the second database.
    @field_validator("database_url", "token_database_url", check_fields=False)
    @classmethod
    def _verified(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is None or (not value and info.field_name == "token_database_url"):
            return value
        return trust_authorities(
            require_verified_database(value, info), str(info.data.get("ca_bundle") or certifi.where())
        )


class TokenSettings(DatabaseSettings):
    """`token_keys` are comma-separated `id:base64 of 32 bytes`; the first seals, all open (`tokens/sealing.py`)."""

    # `postgresql://…` of schemas `mailroom_tokens` and `mailroom_quota`; `MAILROOM_DATABASE_URL` where it is not set.
    token_database_url: SecretStr = Field(default=SecretStr(""), validate_default=True)
    token_store: str = "postgres"  # noqa: S105  # Where grants are kept: `postgres`, there is no other yet.
    # Keys that encrypt tokens, and passwords of locked documents, at rest: comma-separated `id:base64 of 32 bytes`; the
    # first encrypts, all decrypt. Ingestion takes no passwords without them.
    token_keys: SecretStr

    @field_validator("token_database_url", mode="before")
    @classmethod
    def _same_database_by_default(cls, value: object, info: ValidationInfo) -> object:
        """Empty where the other database is wrong, which is said of that one alone."""
        return value or info.data.get("database_url", value)

    @field_validator("token_store")
    @classmethod
    def _known_store(cls, value: str) -> str:
        if value != "postgres":
            raise ValueError("only postgres is there yet")
        return value


class OptionalSealingSettings(MailroomSettings):
    """Of processes that seal what they keep for a while, and work without."""

    # Keys that encrypt tokens, and passwords of locked documents, at rest: comma-separated `id:base64 of 32 bytes`; the
    # first encrypts, all decrypt. Ingestion takes no passwords without them.
    token_keys: SecretStr | None = None


class BlobSettings(CABundleSettings):
    """`file:///folder`, `s3://bucket/prefix` or `gs://bucket/prefix`."""

    # Where attachments and the archive are kept: `file:///folder`, `s3://bucket/prefix` or `gs://bucket/prefix`.
    blob_url: str

    @field_validator("blob_url")
    @classmethod
    def _names_a_store(cls, value: str) -> str:
        url = urlsplit(value)
        is_folder = url.scheme == "file" and url.netloc in ("", "localhost") and url.path
        if not is_folder and not (url.scheme in ("s3", "gs") and url.netloc):
            raise ValueError("file:///folder, s3://bucket/prefix or gs://bucket/prefix is needed")
        return value


class ParserSettings(MailroomSettings):
    """Of processes that open untrusted files."""

    parser_processes: int = Field(default=2, ge=1, le=64)  # as many files are read at once
    # Address space that a parser process may use for one file.
    parser_memory_bytes: int = Field(default=1024 * _MiB, ge=128 * _MiB)
    # CPU time that one file may cost.
    parser_cpu_s: int = Field(default=30, ge=1)
    # Time that one file may take, waiting included.
    parser_wall_s: float = Field(default=60, gt=0)
    parser_unconfined: bool = False  # lets a worker start whose parser processes lack a required layer


class TenantReach(BaseModel):
    """Where application access may take a tenant: provider tenants (Microsoft's GUIDs or domains) and mail domains."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider_tenants: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _list_counts_for_both(cls, value: object) -> object:
        return {"provider_tenants": value, "domains": value} if isinstance(value, list) else value

    @field_validator("provider_tenants", "domains")
    @classmethod
    def _to_lower_case(cls, value: frozenset[str]) -> frozenset[str]:
        return frozenset(entry.lower() for entry in value)


class APISettings(MailroomSettings):
    """`api_keys` are comma-separated `tenant:role:sha256-hex-of-the-key` (`auth.py`)."""

    # Who may call the API: comma-separated `tenant:role:sha256-hex-of-the-key`.
    api_keys: SecretStr
    # JSON: for each tenant the provider tenants and mail domains that it may reach by application access.
    tenants: dict[str, TenantReach] = {}


class PublicSettings(MailroomSettings):
    """Where this site is reached from outside, and by whom."""

    # Where browsers reach this site, and providers too unless they have a name of their own.
    public_url: HTTPSAddress
    # Where providers reach this site, where that is another name; `MAILROOM_PUBLIC_URL` otherwise.
    webhook_url: HTTPSAddress | None = None
    # Comma-separated networks whose `X-Forwarded-For` is believed.
    trusted_proxies: str = ""

    @property
    def webhook_base_url(self) -> str:
        return self.webhook_url or self.public_url

    @field_validator("public_url", "webhook_url")
    @classmethod
    def _no_trailing_slash(cls, value: str | None) -> str | None:
        return None if value is None else value.rstrip("/")


class TLSSettings(CABundleSettings):
    # Proxy for provider calls; the environment's own proxy variables are not used.
    https_proxy: str | None = None


class ProviderSettings(TLSSettings):
    """What all providers' clients share; where a provider is, its own package reads (`mailroom_outlook`,
    `mailroom_gmail`)."""

    # Longest wait for each step of a provider call.
    provider_timeout_s: float = 30.0

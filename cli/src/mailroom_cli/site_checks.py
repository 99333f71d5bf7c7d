"""The checks of what a site has of its own: settings, Kafka, Postgres, blobs and the keys of tokens."""

import os
import secrets
from collections.abc import AsyncIterator
from typing import TypeVar

import asyncpg
from pydantic import SecretStr

from mailroom_cli.apply_topics import apply_topics
from mailroom_cli.check_report import CheckResult, Outcome
from mailroom_common.blobs import open_blob_store
from mailroom_common.errors import Fatal, MailroomError, SettingsError
from mailroom_common.migrations import list_schemas, require_current_schema
from mailroom_common.postgres import open_pool
from mailroom_common.settings import (
    APISettings,
    BlobSettings,
    DatabaseSettings,
    KafkaSettings,
    MailroomSettings,
    PublicSettings,
    TokenSettings,
    load_settings,
)
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import TokenStore
from mailroom_gmail.settings import GmailSettings
from mailroom_outlook.settings import OutlookSettings

S = TypeVar("S", bound=MailroomSettings)

_GRANTS_LOOKED_AT = 1000
_WHERE_TO_RUN = 'give it the variables of a process; docs/install.md, "The command line", does so on Kubernetes'

# By the variable without which a group of settings is of no use to the process that this command runs beside.
_GROUPS: dict[str, type[MailroomSettings]] = {
    "MAILROOM_KAFKA_BOOTSTRAP": KafkaSettings,
    "MAILROOM_DATABASE_URL": DatabaseSettings,
    "MAILROOM_TOKEN_KEYS": TokenSettings,
    "MAILROOM_BLOB_URL": BlobSettings,
    "MAILROOM_API_KEYS": APISettings,
    "MAILROOM_PUBLIC_URL": PublicSettings,
    "MAILROOM_MICROSOFT_CLIENT_ID": OutlookSettings,
    "MAILROOM_GOOGLE_CLIENT_ID": GmailSettings,
}


def has_settings() -> bool:
    """Whether the environment is that of a process."""
    return any(is_given(variable) for variable in _GROUPS)


def is_given(variable: str) -> bool:
    return bool(os.environ.get(variable) or os.environ.get(f"{variable}_FILE"))


def skip_check(check: str, subject: str, variable: str) -> CheckResult:
    finding = f"{variable} is not set in this environment"
    return CheckResult(check, subject, Outcome.SKIPPED, finding, unset_variable=variable)


def load_or_skip(
    check: str, subject: str, variable: str, kind: type[S]
) -> tuple[S, None] | tuple[None, list[CheckResult]]:
    """The settings, or why there are none. Wrong ones are the finding of the check `settings` alone."""
    if not is_given(variable):
        return None, [skip_check(check, subject, variable)]
    try:
        return load_settings(kind), None
    except SettingsError:
        return None, [CheckResult(check, subject, Outcome.SKIPPED, "its settings are wrong, as said above")]


async def check_settings() -> list[CheckResult]:
    results = []
    for variable, kind in _GROUPS.items():
        if not is_given(variable):
            continue
        try:
            load_settings(kind)
        except SettingsError as error:
            results.append(
                CheckResult("settings", kind.__name__, Outcome.FAILED, str(error), "docs/settings.md says what each is")
            )
        else:
            results.append(CheckResult("settings", kind.__name__, Outcome.OK, "complete"))
    return results or [CheckResult("settings", "all", Outcome.FAILED, "no MAILROOM_ variable is set", _WHERE_TO_RUN)]


async def check_kafka() -> list[CheckResult]:
    settings, skipped = load_or_skip("kafka", "topics", "MAILROOM_KAFKA_BOOTSTRAP", KafkaSettings)
    if settings is None:
        return skipped or []
    subject = f"topics at {settings.kafka_bootstrap}"
    try:
        found = await apply_topics(settings, is_dry_run=True)
    except MailroomError as error:
        step = "check MAILROOM_KAFKA_BOOTSTRAP, the other MAILROOM_KAFKA_ settings, and what this user may describe"
        return [CheckResult("kafka", subject, Outcome.FAILED, str(error), step)]
    if found.hidden:
        finding = f"this user may not look at the settings of {len(found.hidden)} topics: only an administrator may"
        return [CheckResult("kafka", subject, Outcome.SKIPPED, finding)]
    if wrong := [*found.created, *found.changed]:
        finding = f"{len(found.created)} are missing and {len(found.changed)} differ, {wrong[0]} for one"
        return [CheckResult("kafka", subject, Outcome.FAILED, finding, "mailroom topics apply")]
    return [CheckResult("kafka", subject, Outcome.OK, f"{len(found.unchanged)} as they have to be")]


async def check_database() -> list[CheckResult]:
    settings, skipped = load_or_skip("postgres", "schemas", "MAILROOM_DATABASE_URL", DatabaseSettings)
    if settings is None:
        return skipped or []
    try:
        async with open_pool(settings.database_url, application_name="mailroom-doctor", max_size=1) as pool:
            server = await pool.fetchval("select concat(current_setting('server_version'), ' as ', current_user)")
            connected = CheckResult("postgres", "connection", Outcome.OK, f"Postgres {server}")
            return [connected, *[await _check_schema(pool, schema) for schema in sorted(list_schemas())]]
    except MailroomError as error:
        step = "check MAILROOM_DATABASE_URL and, beyond loopback, MAILROOM_CA_BUNDLE"
        return [CheckResult("postgres", "connection", Outcome.FAILED, str(error), step)]


_COUNT_CLOSED_TABLES = """
select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1 and c.relkind in ('r', 'p') and has_schema_privilege(n.oid, 'usage')
  and not has_table_privilege(c.oid, 'select')
"""


async def _check_schema(pool: asyncpg.Pool, schema: str) -> CheckResult:
    # Only a service's own schemas are opened to its role, each with all of its tables.
    if closed := await pool.fetchval(_COUNT_CLOSED_TABLES, schema):
        finding = f"this role may use the schema, and may not read {closed} of its tables"
        step = "mailroom migrate --grant-roles gives each role its rights again"
        return CheckResult("postgres", schema, Outcome.FAILED, finding, step)
    try:
        await require_current_schema(pool, schema)
    except asyncpg.InsufficientPrivilegeError:
        return CheckResult("postgres", schema, Outcome.SKIPPED, "this role does not see it, as is right for most")
    except Fatal as error:
        return CheckResult("postgres", schema, Outcome.FAILED, str(error), "mailroom migrate")
    return CheckResult("postgres", schema, Outcome.OK, "every migration of this version is applied")


async def check_token_keys() -> list[CheckResult]:
    settings, skipped = load_or_skip("tokens", "sealing keys", "MAILROOM_TOKEN_KEYS", TokenSettings)
    if settings is None:
        return skipped or []
    try:
        keys = SealingKeys.parse_keys(settings.token_keys.get_secret_value())
    except SettingsError as error:
        step = "docs/settings.md shows the form; `openssl rand -base64 32` makes a key"
        return [CheckResult("tokens", "sealing keys", Outcome.FAILED, str(error), step)]
    return [await _check_stored_grants(settings.token_database_url, keys)]


async def _check_stored_grants(url: SecretStr, keys: SealingKeys) -> CheckResult:
    """Whether the keys open what is stored: a lost key shows here and not when the next token is due."""
    try:
        async with open_pool(url, application_name="mailroom-doctor", max_size=1) as pool:
            opened, closed = await TokenStore(pool, keys, url=url).count_grants_by_key(limit=_GRANTS_LOOKED_AT)
    except MailroomError as error:
        step = "check MAILROOM_TOKEN_DATABASE_URL"
        return CheckResult("tokens", "stored grants", Outcome.FAILED, str(error), step)
    except (asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedTableError):
        return CheckResult("tokens", "stored grants", Outcome.SKIPPED, "this role does not see them")
    if closed:
        step = "add the key that sealed them to MAILROOM_TOKEN_KEYS, behind the first; else their users consent again"
        finding = f"{closed} of the {opened + closed} longest unused do not open with these keys"
        return CheckResult("tokens", "stored grants", Outcome.FAILED, finding, step)
    return CheckResult("tokens", "stored grants", Outcome.OK, f"the {opened} longest unused open")


async def check_blobs() -> list[CheckResult]:
    settings, skipped = load_or_skip("blobs", "store", "MAILROOM_BLOB_URL", BlobSettings)
    if settings is None:
        return skipped or []
    key, content = f"doctor/{secrets.token_hex(8)}", secrets.token_bytes(64)
    try:
        async with open_blob_store(settings) as store:
            await store.write_blob(key, _yield_once(content), content_type="application/octet-stream")
            read = b"".join([chunk async for chunk in store.read_blob(key)])
            await store.delete_blob(key)
    except MailroomError as error:
        step = "check MAILROOM_BLOB_URL, its credentials, and the right to write, read and delete"
        return [CheckResult("blobs", settings.blob_url, Outcome.FAILED, str(error), step)]
    if read != content:
        return [CheckResult("blobs", settings.blob_url, Outcome.FAILED, "other bytes came back than were written")]
    return [CheckResult("blobs", settings.blob_url, Outcome.OK, "a blob was written, read and deleted")]


async def _yield_once(content: bytes) -> AsyncIterator[bytes]:
    yield content

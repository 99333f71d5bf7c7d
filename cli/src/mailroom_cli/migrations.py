"""`mailroom migrate`: bring every schema up to date."""

import asyncio

import typer
from pydantic import SecretStr

from mailroom_common.migrations import apply_migrations, list_schemas
from mailroom_common.settings import DatabaseSettings, load_settings
from mailroom_common.tokens.store import SCHEMA as TOKENS


class Settings(DatabaseSettings):
    """Tokens may be in a database of their own; the keys that encrypt them are not needed here."""

    token_database_url: SecretStr | None = None


def migrate_schemas() -> None:
    """Apply the migrations that are missing, each in a transaction of its own. Two runs at once do no harm."""
    settings = load_settings(Settings)
    applied = asyncio.run(_apply_all_migrations(settings))
    for name in applied:
        typer.echo(f"applied {name}")
    typer.echo(f"{len(applied)} applied; {', '.join(sorted(list_schemas()))} are up to date")


async def _apply_all_migrations(settings: Settings) -> list[str]:
    services = list_schemas() - {TOKENS}
    applied = await apply_migrations(settings.token_database_url or settings.database_url, {TOKENS})
    return applied + await apply_migrations(settings.database_url, services)

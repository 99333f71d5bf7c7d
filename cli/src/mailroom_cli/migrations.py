"""`mailroom migrate`: bring every schema up to date."""

import asyncio

import typer
from pydantic import SecretStr

from mailroom_common.migrations import apply_migrations as bring_up_to_date
from mailroom_common.migrations import list_schemas
from mailroom_common.settings import DatabaseSettings, load_settings
from mailroom_common.tokens.store import SCHEMA as TOKENS


class Settings(DatabaseSettings):
    """Tokens may live in a database of their own; the keys that seal them are not needed here."""

    token_database_url: SecretStr | None = None


def migrate() -> None:
    """Apply what is missing, one migration a transaction; safe to repeat and to run twice at once."""
    settings = load_settings(Settings)
    done = asyncio.run(_all(settings))
    for name in done:
        typer.echo(f"applied {name}")
    typer.echo(f"{len(done)} applied; {', '.join(sorted(list_schemas()))} are up to date")


async def _all(settings: Settings) -> list[str]:
    services = list_schemas() - {TOKENS}
    done = await bring_up_to_date(settings.token_database_url or settings.database_url, {TOKENS})
    return done + await bring_up_to_date(settings.database_url, services)

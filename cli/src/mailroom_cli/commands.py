"""The commands of `mailroom`: migrate the database, create and list the Kafka topics."""

import asyncio

import typer
from pydantic import SecretStr

from mailroom_cli.apply_topics import apply_topics
from mailroom_common.migrations import apply_migrations, list_schemas
from mailroom_common.settings import DatabaseSettings, KafkaSettings, load_settings
from mailroom_common.tokens.store import SCHEMA as TOKENS
from mailroom_common.topics import list_deployed_topics

topics_app = typer.Typer(name="topics", no_args_is_help=True, help="The Kafka topics of a site.")

_EXAMPLES = """Examples:

  MAILROOM_KAFKA_BOOTSTRAP=127.0.0.1:9092 MAILROOM_KAFKA_REPLICATION=1 mailroom topics apply

  MAILROOM_KAFKA_BOOTSTRAP=kafka:9092 MAILROOM_TOPIC_PREFIX=staging. mailroom topics apply
"""


class MigrationSettings(DatabaseSettings):
    """Tokens may live in a database of their own; the keys that seal them are not needed here."""

    token_database_url: SecretStr | None = None


def migrate_command() -> None:
    """Apply what is missing, one migration a transaction; safe to repeat and to run twice at once."""
    settings = load_settings(MigrationSettings)
    done = asyncio.run(_migrate_all(settings))
    for name in done:
        typer.echo(f"applied {name}")
    typer.echo(f"{len(done)} applied; {', '.join(sorted(list_schemas()))} are up to date")


async def _migrate_all(settings: MigrationSettings) -> list[str]:
    services = list_schemas() - {TOKENS}
    done = await apply_migrations(settings.token_database_url or settings.database_url, {TOKENS})
    return done + await apply_migrations(settings.database_url, services)


@topics_app.command("apply", epilog=_EXAMPLES)
def apply_command() -> None:
    """Create the topics that are missing and correct the settings of those that differ.

    Safe to run again and again: the second run changes nothing. Partition counts are fixed for life, so a topic that
    has another is an error. Settings: MAILROOM_KAFKA_BOOTSTRAP, MAILROOM_KAFKA_REPLICATION (3), MAILROOM_TOPIC_PREFIX.
    """
    settings = load_settings(KafkaSettings)
    applied = asyncio.run(apply_topics(settings.kafka_bootstrap, settings.topic_prefix, settings.kafka_replication))
    for name in applied.created:
        typer.echo(f"created   {name}")
    for name in applied.changed:
        typer.echo(f"changed   {name}")
    typer.echo(f"{len(applied.created)} created, {len(applied.changed)} changed, {len(applied.unchanged)} as they were")


@topics_app.command("list", epilog="Example:\n\n  mailroom topics list")
def list_command() -> None:
    """Show what `apply` would make: names, partitions, cleanup and retention. Asks Kafka nothing."""
    settings = load_settings(KafkaSettings)
    for topic in list_deployed_topics(settings.topic_prefix, settings.kafka_replication):
        kept = topic.config.get("retention.ms")
        days = f"{int(kept) // 86_400_000} d" if kept else "-"
        typer.echo(f"{topic.name:60} {topic.partitions:4} {topic.config['cleanup.policy']:8} {days}")

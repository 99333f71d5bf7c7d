"""`mailroom topics`: the Kafka topics of a site."""

import asyncio

import typer

from mailroom_cli.apply_topics import apply_topics
from mailroom_common.settings import KafkaSettings, load_settings
from mailroom_common.topics import list_deployed_topics

app = typer.Typer(name="topics", no_args_is_help=True, help="The Kafka topics of a site.")

_EXAMPLES = """Examples:

  MAILROOM_KAFKA_BOOTSTRAP=127.0.0.1:9092 MAILROOM_KAFKA_REPLICATION=1 mailroom topics apply

  MAILROOM_KAFKA_BOOTSTRAP=kafka:9093 MAILROOM_KAFKA_SECURITY_PROTOCOL=SSL mailroom topics apply
"""


@app.command("apply", epilog=_EXAMPLES)
def create_or_correct_topics() -> None:
    """Create the topics that are missing and correct the settings of those that differ.

    Safe to repeat: a second run changes nothing. Partition counts are fixed for life, so a topic that has
    another one is an error. Settings: MAILROOM_KAFKA_BOOTSTRAP, MAILROOM_KAFKA_REPLICATION (3), MAILROOM_TOPIC_PREFIX.
    """
    settings = load_settings(KafkaSettings)
    report = asyncio.run(apply_topics(settings))
    for name in report.created:
        typer.echo(f"created   {name}")
    for name in report.changed:
        typer.echo(f"changed   {name}")
    typer.echo(f"{len(report.created)} created, {len(report.changed)} changed, {len(report.unchanged)} as they were")


@app.command("list", epilog="Example:\n\n  mailroom topics list")
def list_topics() -> None:
    """Show the topics that `apply` creates: names, partitions, cleanup and retention. Does not connect to Kafka."""
    settings = load_settings(KafkaSettings)
    for topic in list_deployed_topics(settings.topic_prefix, settings.kafka_replication):
        retention_ms = topic.config.get("retention.ms")
        days = f"{int(retention_ms) // 86_400_000} d" if retention_ms else "-"
        typer.echo(f"{topic.name:60} {topic.partitions:4} {topic.config['cleanup.policy']:8} {days}")

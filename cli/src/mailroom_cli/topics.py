"""`mailroom topics`: the Kafka topics of a site."""

import asyncio
import dataclasses
from datetime import datetime
from typing import Annotated

import typer

from mailroom_cli.apply_acls import AppliedRules, apply_access_rules, describe_rule
from mailroom_cli.apply_topics import AppliedTopics, apply_topics
from mailroom_cli.consumer_lag import read_lags
from mailroom_cli.options import AsJSON, print_json_line
from mailroom_cli.rewind_groups import rewind_groups
from mailroom_cli.site_api import load_kafka_settings
from mailroom_cli.terminal import print_line
from mailroom_common.errors import SettingsError
from mailroom_common.settings import KafkaSettings, load_settings
from mailroom_common.topic_access import COMPONENTS, list_access_rules, list_operator_rules
from mailroom_common.topics import list_deployed_topics

app = typer.Typer(name="topics", no_args_is_help=True, help="The Kafka topics of a site.")

_EXAMPLES = """Examples:

  MAILROOM_KAFKA_BOOTSTRAP=127.0.0.1:9092 MAILROOM_KAFKA_REPLICATION=1 mailroom topics apply

  MAILROOM_KAFKA_BOOTSTRAP=kafka:9093 MAILROOM_KAFKA_SECURITY_PROTOCOL=SSL mailroom topics apply

  mailroom topics apply --acls --dry-run

  mailroom topics apply --acls --principal ingestion-worker=User:CN=ingestion,O=Example

  mailroom topics apply --acls --operator User:anna
"""


@app.command("apply", epilog=_EXAMPLES)
def create_or_correct_topics(
    acls: Annotated[
        bool, typer.Option("--acls", help="Also create the ACLs by which each process may do what it needs.")
    ] = False,
    principal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMPONENT=PRINCIPAL",
            help="Who a process is at Kafka, instead of User:mailroom-COMPONENT. May be repeated.",
        ),
    ] = None,
    operator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PRINCIPAL",
            help="With --acls: who may also run tail, topics lag, dlq and replay, as User:anna. May be repeated.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
) -> None:
    """Create the topics that are missing and correct the settings of those that differ.

    Safe to repeat: a second run changes nothing. Partition counts are fixed for life, so a topic that has
    another one is an error. ACLs that the site does not need are shown and left. Settings: MAILROOM_KAFKA_BOOTSTRAP,
    MAILROOM_KAFKA_REPLICATION (3), MAILROOM_TOPIC_PREFIX, and MAILROOM_KAFKA_SECURITY_PROTOCOL with what belongs to
    it; the user of these must be allowed to create and alter topics, and ACLs with --acls.
    """
    principals = _parse_principals(principal or [])
    operators = _parse_operators(operator or [], acls=acls)
    settings = load_settings(KafkaSettings)
    if acls:
        # First: a broker that makes a thousand partitions learns of nothing else meanwhile.
        rules = list_access_rules(settings.topic_prefix, principals)
        rules += [rule for each in operators for rule in list_operator_rules(settings.topic_prefix, each)]
        _report_rules(asyncio.run(apply_access_rules(settings, rules, is_dry_run=dry_run)), is_dry_run=dry_run)
    _report_topics(asyncio.run(apply_topics(settings, is_dry_run=dry_run)), is_dry_run=dry_run)


def _parse_principals(given: list[str]) -> dict[str, str]:
    parsed = dict(each.split("=", 1) for each in given if "=" in each)
    known = [component.name for component in COMPONENTS]
    if len(parsed) < len(given) or not parsed.keys() <= set(known) or not all(":" in name for name in parsed.values()):
        raise SettingsError(
            f"--principal is wrong: COMPONENT=TYPE:NAME is needed, once for a component; there are {', '.join(known)}"
        )
    return parsed


def _parse_operators(given: list[str], *, acls: bool) -> list[str]:
    if given and not acls:
        raise SettingsError("--operator is about ACLs: give --acls too")
    if wrong := [each for each in given if ":" not in each]:
        raise SettingsError(f"--operator is wrong: TYPE:NAME is needed, as User:anna, and not {wrong[0]}")
    return given


def _report_topics(report: AppliedTopics, *, is_dry_run: bool) -> None:
    would = "would be " if is_dry_run else ""
    for name in report.created:
        print_line(f"{would}created   {name}")
    for name in report.changed:
        print_line(f"{would}changed   {name}")
    counts = f"{len(report.created)} {would}created, {len(report.changed)} {would}changed"
    print_line(f"{counts}, {len(report.unchanged)} as they were")


def _report_rules(report: AppliedRules, *, is_dry_run: bool) -> None:
    would = "would be " if is_dry_run else ""
    for rule in report.created:
        print_line(f"{would}allowed   {describe_rule(rule)}")
    for surplus in report.surplus:
        print_line(f"not needed: {surplus}")
    print_line(f"{len(report.created)} ACLs {would}created, {len(report.unchanged)} as they were")


_REWIND_EXAMPLES = """Examples:

  mailroom topics rewind --since 2026-11-27T12:00:00Z --dry-run

  mailroom topics rewind --since 2026-11-27T12:00:00+01:00
"""


@app.command("rewind", epilog=_REWIND_EXAMPLES)
def set_groups_back(
    since: Annotated[str, typer.Option(metavar="TIME", help="ISO 8601 with its zone: 2026-11-27T12:00:00Z.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be read again, and change nothing.")
    ] = False,
) -> None:
    """Have the services read again what they have read since a time, after their database was restored.

    The services have to be stopped. A time long before the backup is as right as one just before it: what is read twice
    changes nothing. The whole procedure is in docs/operations.md, "Restore".
    """
    settings = load_settings(KafkaSettings)
    groups = asyncio.run(rewind_groups(settings, _parse_time(since), is_dry_run=dry_run))
    for group in groups:
        print_line(f"{group.name:60} {group.partitions:4} partitions {group.records:10} records")
    print_line("nothing was changed" if dry_run else "these are read again when the services start")


def _parse_time(text: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise SettingsError("--since is wrong: a time with its zone is needed, as 2026-11-27T12:00:00Z")
    return parsed


@app.command("list", epilog="Example:\n\n  mailroom topics list")
def list_topics() -> None:
    """Show the topics that `apply` creates: names, partitions, cleanup and retention. Does not connect to Kafka."""
    settings = load_kafka_settings()
    for topic in list_deployed_topics(settings.topic_prefix, settings.kafka_replication):
        retention_ms = topic.config.get("retention.ms")
        days = f"{int(retention_ms) // 86_400_000} d" if retention_ms else "-"
        print_line(f"{topic.name:60} {topic.partitions:4} {topic.config['cleanup.policy']:8} {days}")


_LAG_EXAMPLES = """Examples:

  mailroom topics lag

  mailroom topics lag --group mailroom.ingestion.intake --json
"""


@app.command("lag", epilog=_LAG_EXAMPLES)
def show_lag(
    group: Annotated[str | None, typer.Option("--group", help="Only of this consumer group.")] = None,
    as_json: AsJSON = False,
) -> None:
    """Show how many records each consumer group has still to finish, by topic.

    Of `sync-requests` those count that lie behind the oldest mailbox that is still to be synced.
    """
    settings = load_kafka_settings()
    all_lags = asyncio.run(read_lags(settings))
    known = sorted({lag.group for lag in all_lags})
    if known and group is not None and group not in known:
        raise typer.BadParameter(f"{group} is none of {', '.join(known)}", param_hint="--group")
    lags = [lag for lag in all_lags if group in (None, lag.group)]
    if as_json:
        print_json_line([dataclasses.asdict(lag) for lag in lags])
        return
    for lag in lags:
        behind = f"{len(lag.partitions)} partitions" if lag.partitions else ""
        print_line(f"{lag.group:44} {lag.topic:24} {lag.records:10,} {behind}".rstrip())
    if not lags:
        print_line("no consumer group has committed anything yet")

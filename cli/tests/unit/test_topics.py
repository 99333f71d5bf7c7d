import logging
from collections.abc import Iterator

import pytest
import structlog
from typer.testing import CliRunner

from mailroom_cli import topics
from mailroom_cli.__main__ import app, main, send_logs_to_stderr
from mailroom_cli.consumer_lag import Lag
from mailroom_common.kafka.client import KafkaAddress
from mailroom_common.topics import list_deployed_topics


def test_list_shows_each_topic_of_the_site_and_needs_no_kafka() -> None:
    environment = {"MAILROOM_KAFKA_BOOTSTRAP": "127.0.0.1:1", "MAILROOM_TOPIC_PREFIX": "staging."}
    result = CliRunner().invoke(app, ["topics", "list"], env=environment)
    assert result.exit_code == 0
    shown = [line.split()[0] for line in result.stdout.splitlines()]
    assert shown == [topic.name for topic in list_deployed_topics("staging.", 3)]


def test_a_consumer_group_that_is_none_is_answered_with_those_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_lags(_settings: KafkaAddress) -> list[Lag]:
        return [Lag("mailroom.ingestion.intake", "attachments", 3)]

    monkeypatch.setattr(topics, "read_lags", read_lags)
    monkeypatch.setenv("MAILROOM_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    refused = CliRunner().invoke(app, ["topics", "lag", "--group", "nope"])
    assert (refused.exit_code, "mailroom.ingestion.intake" in refused.stderr) == (2, True)
    assert CliRunner().invoke(app, ["topics", "lag", "--group", "mailroom.ingestion.intake"]).exit_code == 0


def test_a_missing_setting_ends_with_a_sentence_instead_of_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MAILROOM_KAFKA_BOOTSTRAP", raising=False)
    monkeypatch.setattr("sys.argv", ["mailroom", "topics", "apply"])
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert exit_info.value.code == 78
    assert capsys.readouterr().err == "mailroom: MAILROOM_KAFKA_BOOTSTRAP is not set.\n"


@pytest.mark.parametrize("given", ["ingestion-worker", "ingestion-worker=nobody", "ingestion=User:x"])
def test_a_principal_that_cannot_be_meant_is_refused_before_kafka_is_asked(given: str) -> None:
    result = CliRunner().invoke(app, ["topics", "apply", "--acls", "--principal", given])
    assert "--principal is wrong" in str(result.exception)
    assert "ingestion-worker, " in f"{result.exception}, "


@pytest.fixture
def _keep_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(structlog, "configure", lambda **_: None)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    yield
    logging.getLogger("aiokafka").setLevel(logging.NOTSET)


@pytest.mark.usefixtures("_keep_logging")
def test_with_kafka_away_the_attempts_of_its_client_are_not_among_the_lines_of_a_command() -> None:
    send_logs_to_stderr()
    assert not logging.getLogger("aiokafka.conn").isEnabledFor(logging.ERROR)
    assert logging.getLogger("asyncio").isEnabledFor(logging.ERROR)

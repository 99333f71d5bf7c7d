"""`mailroom migrate` without a server."""

import pytest
from typer.testing import CliRunner

from mailroom_cli.__main__ import app
from mailroom_common.errors import Unavailable


def test_postgres_that_does_not_answer_is_said_with_its_setting_and_without_the_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAILROOM_DATABASE_URL", "postgresql://owner:canary@127.0.0.1:1/mailroom")
    refused = CliRunner().invoke(app, ["migrate"]).exception
    assert isinstance(refused, Unavailable)
    assert "is Postgres running, and is MAILROOM_DATABASE_URL its address" in str(refused)
    assert "canary" not in str(refused)

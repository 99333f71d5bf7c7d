import os
from pathlib import Path

import pytest

from mailroom_sandbox.site.given_settings import GivenSettings, read_given_settings


@pytest.fixture
def env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / ".env"
    monkeypatch.setenv("MAILROOM_ENV_FILE", str(path))
    return path


def read_file(env_file: Path, text: str) -> GivenSettings:
    env_file.write_text(text)
    return read_given_settings()


def test_environment_goes_before_the_env_file_and_empty_is_not_given(
    env_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAILROOM_GRAPH_URL", "https://environment")
    given = read_file(env_file, "MAILROOM_GRAPH_URL=https://file\nMAILROOM_GMAIL_URL=https://file\nMAILROOM_X=\n")
    assert given.values["MAILROOM_GRAPH_URL"] == "https://environment"
    assert given.values["MAILROOM_GMAIL_URL"] == "https://file"
    assert "MAILROOM_X" not in given.values
    assert "MAILROOM_GRAPH_URL" not in given.lines, "its value is not the file's"


def test_each_value_of_the_file_has_its_line(env_file: Path) -> None:
    given = read_file(env_file, "# first\n\nMAILROOM_GRAPH_URL=x\n\n\nexport MAILROOM_GMAIL_URL='y'\n")
    assert given.lines["MAILROOM_GRAPH_URL"] == f"{env_file}, line 3"
    assert given.lines["MAILROOM_GMAIL_URL"] == f"{env_file}, line 6"
    assert given.mistakes == ()


@pytest.mark.parametrize("broken", ["MAILROOM_GRAPH_URL", "https://graph.example", "MAILROOM_GRAPH_URL: x", "=x"])
def test_broken_line_is_named_by_file_and_number(env_file: Path, broken: str) -> None:
    given = read_file(env_file, f"MAILROOM_GMAIL_URL=y\n{broken}\nMAILROOM_LOG_LEVEL=info\n")
    assert given.mistakes == (f"{env_file}, line 2: this is no line of the form NAME=value.",)
    assert given.values["MAILROOM_LOG_LEVEL"] == "info"


def test_variable_that_is_set_twice_is_named(env_file: Path) -> None:
    given = read_file(env_file, "MAILROOM_GMAIL_URL=y\nMAILROOM_GMAIL_URL=z\n")
    assert given.mistakes == (f"{env_file}, line 2: MAILROOM_GMAIL_URL is set twice in this file, first in line 1.",)


def test_file_that_is_named_must_be_there(env_file: Path) -> None:
    assert read_given_settings().mistakes == (f"MAILROOM_ENV_FILE is wrong: there is no file {env_file}.",)


def test_the_null_device_is_an_empty_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_ENV_FILE", os.devnull)
    assert read_given_settings().mistakes == ()

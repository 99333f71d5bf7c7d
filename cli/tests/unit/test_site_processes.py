import json
import os
from pathlib import Path

import pytest

from mailroom_cli.site_processes import find_site_processes
from mailroom_common.errors import SettingsError


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands for `/proc`; a site runs here, with two services and a Postgres."""
    monkeypatch.delenv("MAILROOM_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mailroom/run").mkdir(parents=True)
    addresses = dict.fromkeys(("subscription_manager", "sync_engine", "ingestion"), "http://127.0.0.1:1")
    here = {**addresses, "pids": {"sync_engine_worker": 7, "webhook_gateway": 8, "postgres": 9}}
    (tmp_path / ".mailroom/run/endpoints.json").write_text(json.dumps(here))
    return tmp_path / "proc"


def run_process(proc: Path, pid: int, command: str, environment: bytes | None = b"MAILROOM_A=b=c\0PATH=/bin\0") -> None:
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "cmdline").write_text("\0".join(command.split()) + "\0")
    if environment is not None:
        (proc / str(pid) / "environ").write_bytes(environment)


def test_each_service_has_the_environment_it_was_started_with(proc: Path) -> None:
    run_process(proc, 7, "/venv/python -m sync_engine worker")
    run_process(proc, 8, "/venv/python -m webhook_gateway")
    run_process(proc, 9, "/pg/postgres -D /x")
    found = find_site_processes(proc)
    assert [process.name for process in found] == ["sync_engine_worker", "webhook_gateway"]
    assert found[0].environment == {"MAILROOM_A": "b=c", "PATH": "/bin"}


def test_a_process_whose_environment_is_closed_to_this_user_is_listed_without_it(proc: Path) -> None:
    run_process(proc, 7, "/venv/python -m sync_engine worker", environment=None)
    assert [process.environment for process in find_site_processes(proc)] == [None]


def test_a_number_that_is_another_process_by_now_is_passed_over(proc: Path) -> None:
    run_process(proc, 7, "/venv/python -m sync_engine api")
    run_process(proc, 8, "bash")
    assert find_site_processes(proc) == []


def test_the_site_of_another_user_is_checked_only_where_it_is_named(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_process(proc, 8, "/venv/python -m webhook_gateway")
    another = os.getuid() + 1
    monkeypatch.setattr("os.getuid", lambda: another)
    with pytest.raises(SettingsError, match="MAILROOM_HOME"):
        find_site_processes(proc)
    monkeypatch.setenv("MAILROOM_HOME", str(proc.parent / ".mailroom"))
    assert [process.name for process in find_site_processes(proc)] == ["webhook_gateway"]


def test_without_a_site_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAILROOM_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    assert find_site_processes() == []

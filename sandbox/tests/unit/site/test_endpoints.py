import json
from pathlib import Path

from mailroom_sandbox.site.endpoints import Endpoints, EndpointsFile

SITE = Endpoints(
    kafka="127.0.0.1:1",
    database="postgresql://…",
    public="https://127.0.0.1:2",
    gateway="http://127.0.0.1:3",
    subscription_manager="http://127.0.0.1:4",
    sync_engine="http://127.0.0.1:5",
    ingestion="http://127.0.0.1:6",
    api_key="key",
    pids={"kafka": 10},
)


def test_file_has_the_names_that_others_rely_on(tmp_path: Path) -> None:
    EndpointsFile(tmp_path / "run" / "endpoints.json").publish_endpoints(SITE)
    written = json.loads((tmp_path / "run" / "endpoints.json").read_text())
    assert set(written) == {
        "kafka", "database", "public", "gateway", "subscription_manager", "sync_engine", "ingestion", "api_key", "pids",
    }  # fmt: skip
    assert written["pids"] == {"kafka": 10}


def test_file_follows_a_restart_and_goes_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.json"
    file = EndpointsFile(path)
    file.update_pids({"kafka": 9})
    assert not path.exists(), "nothing is announced before the site is ready"
    file.publish_endpoints(SITE)
    file.update_pids({"kafka": 11})
    assert json.loads(path.read_text())["pids"] == {"kafka": 11}
    assert path.stat().st_mode & 0o077 == 0, "it holds a key"
    file.remove_file()
    assert list(tmp_path.iterdir()) == []

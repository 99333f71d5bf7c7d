from pathlib import Path

import pytest

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.stack.home import (
    STATE_VERSION,
    Home,
    find_checkout,
    find_home,
    require_current_state,
    write_json,
)


@pytest.mark.parametrize("server", ["kafka", "postgres"])
@pytest.mark.parametrize("version", [None, "1", "3000"])
def test_state_of_another_version_is_refused_with_the_command_that_forgets_it(
    tmp_path: Path, server: str, version: str | None
) -> None:
    (tmp_path / server / "data").mkdir(parents=True)
    if version:
        (tmp_path / "state-version").write_text(version)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Fatal, match=rf"{tmp_path}.*\({version or 1}, this one needs {STATE_VERSION}\).*`make clean`"):
        require_current_state(Home(tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_new_state_is_marked_and_is_good_from_then_on(tmp_path: Path) -> None:
    new = Home(tmp_path / "home")
    require_current_state(new)
    (new.kafka / "data").mkdir(parents=True)
    require_current_state(new)
    assert new.state_version.read_text() == f"{STATE_VERSION}\n"


def test_jars_and_certificates_alone_are_no_state(tmp_path: Path) -> None:
    for folder in ("kafka/jars", "tls"):
        (tmp_path / folder).mkdir(parents=True)
    require_current_state(Home(tmp_path))


def test_environment_moves_the_home(tmp_path: Path) -> None:
    assert find_home({"MAILROOM_HOME": str(tmp_path)}).path == tmp_path
    assert find_home({}).path == find_checkout() / ".mailroom"


def test_secret_is_made_once(tmp_path: Path) -> None:
    first = Home(tmp_path).read_or_create_secret("api_key")
    assert Home(tmp_path).read_or_create_secret("api_key") == first != Home(tmp_path).read_or_create_secret("token_key")


def test_json_file_is_replaced_as_a_whole_and_private(tmp_path: Path) -> None:
    file = tmp_path / "run" / "file.json"
    write_json(file, {"a": 1})
    assert file.read_text() == '{\n  "a": 1\n}\n'
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]

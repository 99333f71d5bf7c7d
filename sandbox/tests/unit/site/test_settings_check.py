from base64 import b64encode
from pathlib import Path

from reference import ROOT
from reference.settings import collect_settings

from mailroom_common.errors import SettingsError
from mailroom_sandbox.site import environment
from mailroom_sandbox.site.given_settings import GivenSettings
from mailroom_sandbox.site.settings_check import check_settings, list_known_variables
from mailroom_sandbox.site.stack.home import Home

PORTS = dict(zip(environment.PORT_NAMES, range(20_000, 20_100), strict=False))


def check(tmp_path: Path, *mistakes: str, **values: str) -> list[str]:
    """The lines of what is found wrong with these settings, which stand in a file."""
    lines = {name: f".env, line {number}" for number, name in enumerate(values, 1)}
    site = environment.compose_environment(
        values, Home(tmp_path), PORTS, kafka="127.0.0.1:1", database="postgresql://127.0.0.1/x"
    )
    try:
        check_settings(GivenSettings(values, lines, mistakes), site, PORTS)
    except SettingsError as error:
        _, *found = str(error).splitlines()
        return [line.strip() for line in found]
    return []


def test_what_the_site_makes_up_is_enough(tmp_path: Path) -> None:
    assert check(tmp_path) == []


def test_all_faults_are_named_at_once_each_with_its_place(tmp_path: Path) -> None:
    found = check(
        tmp_path,
        ".env, line 1: MAILROOM_LOG_LEVEL is set twice.",
        MAILROOM_LOG_LEVEL="loud",
        MAILROOM_GRAPH_ULR="https://graph.example",
        MAILROOM_DOCUMENT_ATTEMPTS="0",
        MAILROOM_MICROSOFT_CLIENT_ID="id",
        MAILROOM_FRONT_PORT="99999",
        MAILROOM_BLOB_URL="ftp://x",
        MAILROOM_TOPIC_PREFIX="a b",
        MAILROOM_INSECURE="maybe",
    )
    assert found[0] == ".env, line 1: MAILROOM_LOG_LEVEL is set twice."
    assert "MAILROOM_GRAPH_ULR is no setting of Mailroom: did you mean MAILROOM_GRAPH_URL? (.env, line 2)" in found
    assert sum("MAILROOM_LOG_LEVEL is wrong" in line and "(.env, line 1)" in line for line in found) == 1
    assert sum("MAILROOM_DOCUMENT_ATTEMPTS is wrong" in line for line in found) == 1
    assert "Outlook is not set up: MAILROOM_MICROSOFT_CLIENT_SECRET is missing." in found
    assert sum("MAILROOM_FRONT_PORT is wrong" in line for line in found) == 1
    assert sum("MAILROOM_BLOB_URL is wrong: file:///folder" in line for line in found) == 1
    assert sum("MAILROOM_TOPIC_PREFIX is wrong" in line for line in found) == 1
    assert sum("MAILROOM_INSECURE is wrong: 0 or 1 is needed" in line for line in found) == 1
    assert len(found) == 9


def test_a_file_of_keys_that_is_away_is_no_second_fault_and_one_that_is_there_is_read(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    (missing,) = check(tmp_path, MAILROOM_TOKEN_KEYS_FILE=str(file))
    assert missing.startswith("MAILROOM_TOKEN_KEYS_FILE is wrong")
    file.write_text("k1:short")
    (malformed,) = check(tmp_path, MAILROOM_TOKEN_KEYS_FILE=str(file))
    assert malformed.startswith("MAILROOM_TOKEN_KEYS is wrong in entry 1")
    file.write_text(f"k1:{b64encode(bytes(32)).decode()}")
    assert check(tmp_path, MAILROOM_TOKEN_KEYS_FILE=str(file)) == []


def test_a_rule_over_several_settings_is_told_beside_a_wrong_one_of_the_same_process(tmp_path: Path) -> None:
    found = check(
        tmp_path, MAILROOM_GRAPH_URL="ftp://x", MAILROOM_MICROSOFT_CLIENT_ID="id", MAILROOM_PUBSUB_AUDIENCE="audience"
    )
    assert {line.split()[0] for line in found} == {"MAILROOM_GRAPH_URL", "Outlook", "MAILROOM_PUBSUB_AUDIENCE"}


def test_value_of_a_setting_is_never_repeated(tmp_path: Path) -> None:
    found = check(tmp_path, MAILROOM_API_KEYS="canary", MAILROOM_TOKEN_KEYS="canary", MAILROOM_TENANTS="canary")
    assert sum("MAILROOM_API_KEYS" in line for line in found) == 1
    assert sum("MAILROOM_TOKEN_KEYS" in line for line in found) == 1
    assert not any("canary" in line for line in found)


def test_variables_of_tests_and_doubles_and_files_of_secrets_are_known(tmp_path: Path) -> None:
    assert "MAILROOM_MICROSOFT_CLIENT_SECRET_FILE" in list_known_variables()
    assert check(tmp_path, MAILROOM_TEST_KAFKA="x", MAILROOM_SANDBOX_STATE="x", MAILROOM_HOME="x") == []


def test_the_known_variables_are_those_of_the_docs() -> None:
    documented = {setting.variable for setting in collect_settings(ROOT)}
    assert {name for name in list_known_variables() if not name.endswith("_FILE")} == documented - {"MAILROOM_ENV_FILE"}

import pytest

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.stack import jars


def test_list_names_every_jar_with_its_hash() -> None:
    listed = jars.read_listed_hashes()
    assert "kafka_2.13-4.4.0.jar" in listed
    assert all(len(digest) == 64 for digest in listed.values())


@pytest.mark.parametrize("found", [{"a.jar": "0"}, {"a.jar": "1", "b.jar": "2"}, {}])
def test_changed_added_or_missing_jar_is_refused_by_name(found: dict[str, str]) -> None:
    with pytest.raises(Fatal, match=r"[ab]\.jar"):
        jars.check_hashes(found, {"a.jar": "1"})


def test_listed_jars_pass() -> None:
    jars.check_hashes({"a.jar": "1"}, {"a.jar": "1"})

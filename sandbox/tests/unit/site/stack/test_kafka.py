import os
from pathlib import Path

import pytest

from mailroom_sandbox.site.stack.kafka import find_class_archive


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    return java


def test_archive_lies_beside_the_jars_wherever_those_are(java: Path) -> None:
    first, second = find_class_archive(Path("/a/jars")), find_class_archive(Path("/b/jars"))
    assert (first.parent, second.parent) == (Path("/a"), Path("/b"))
    assert first.name == second.name, "a site with a copy of the jars takes a copy of the archive too"


def test_another_java_has_an_archive_of_its_own(java: Path) -> None:
    before = find_class_archive(Path("/a/jars"))
    os.utime(java, ns=(1, 1))  # an update of the package
    assert find_class_archive(Path("/a/jars")) != before

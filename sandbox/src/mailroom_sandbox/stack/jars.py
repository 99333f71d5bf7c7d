"""Apache Kafka's jars: brought by Maven, checked against the committed list before the first one is run."""

import hashlib
import shutil
import subprocess
from importlib import resources
from pathlib import Path

from mailroom_common.errors import Fatal
from mailroom_sandbox.stack import lock

FILES = resources.files("mailroom_sandbox.stack") / "kafka_files"


def provide(folder: Path) -> Path:
    """The folder with exactly the listed jars; fetched into it when it does not hold them yet."""
    expected = listed()
    if _hashes(folder) != expected:
        with lock.hold(folder.with_name("jars.lock"), wait=True):
            if _hashes(folder) != expected:
                _fetch(folder, expected)
    return folder


def listed() -> dict[str, str]:
    """File name to sha256, as `sha256sum` writes them."""
    lines = (FILES / "jars.sha256").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def check(found: dict[str, str], expected: dict[str, str]) -> None:
    differing = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    if differing:
        raise Fatal(f"Kafka's jars are not the listed ones, so they are not run: {', '.join(differing)}")


def _hashes(folder: Path) -> dict[str, str]:
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in folder.glob("*.jar")}


def _fetch(folder: Path, expected: dict[str, str]) -> None:
    if shutil.which("mvn") is None:
        raise Fatal("Kafka's jars come through Maven: install the Debian package `maven`")
    fresh = folder.with_name("jars.new")
    shutil.rmtree(fresh, ignore_errors=True)
    with resources.as_file(FILES / "pom.xml") as pom:
        copied = subprocess.run(
            [
                "mvn",
                "-q",
                "-B",
                "-f",
                pom,
                "dependency:copy-dependencies",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={fresh}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if copied.returncode != 0:
        raise Fatal(f"Maven could not bring Kafka's jars:\n{copied.stdout[-2000:]}{copied.stderr[-2000:]}")
    check(_hashes(fresh), expected)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.replace(folder)

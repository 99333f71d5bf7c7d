"""Apache Kafka's jars: brought by Maven, checked against the committed list before the first one is run."""

import asyncio
import hashlib
import shutil
from importlib import resources
from pathlib import Path

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.stack import child, lock

FILES = resources.files("mailroom_sandbox.site.stack") / "kafka_files"


async def provide_jars(folder: Path) -> Path:
    """The folder with exactly the listed jars; fetched into it when it does not hold them yet."""
    expected = read_listed_hashes()
    while _hash_jars(folder) != expected:
        try:
            with lock.hold_lock(folder.with_name("jars.lock")):
                await _fetch_jars(folder, expected)
        except lock.AlreadyRunning:  # somebody else is just fetching them
            await asyncio.sleep(0.2)
    return folder


def read_listed_hashes() -> dict[str, str]:
    """File name to sha256, as `sha256sum` writes them."""
    lines = (FILES / "jars.sha256").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def check_hashes(found: dict[str, str], expected: dict[str, str]) -> None:
    differing = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
    if differing:
        raise Fatal(f"Kafka's jars are not the listed ones, so they are not run: {', '.join(differing)}")


def _hash_jars(folder: Path) -> dict[str, str]:
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in folder.glob("*.jar")}


async def _fetch_jars(folder: Path, expected: dict[str, str]) -> None:
    if shutil.which("mvn") is None:
        raise Fatal("Kafka's jars come through Maven: install the Debian package `maven`")
    fresh, log = folder.with_name("jars.new"), folder.with_name("jars.log")
    shutil.rmtree(fresh, ignore_errors=True)
    child.rotate_log(log)
    with resources.as_file(FILES / "pom.xml") as pom:
        command: list[str | Path] = ["mvn", "-B", "-f", pom, "dependency:copy-dependencies", "-DincludeScope=runtime"]
        maven = child.spawn_process("maven", [*command, f"-DoutputDirectory={fresh}"], log=log)
        try:
            code = await maven.wait_for_exit()
        finally:
            maven.kill_process()
    if code != 0:
        raise Fatal(f"Maven could not bring Kafka's jars; the end of {log}:\n{child.read_tail(log)}")
    check_hashes(_hash_jars(fresh), expected)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.replace(folder)

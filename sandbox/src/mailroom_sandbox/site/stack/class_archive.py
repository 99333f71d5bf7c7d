"""An archive of the classes that Kafka loads: with it the JVM starts a broker at little more than half the CPU.

The JVM checks that its own version and the jars are those that the archive was made from; otherwise it reads the jars,
as it does where there is no archive.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.stack import jars, lock
from mailroom_sandbox.site.stack.home import find_home
from mailroom_sandbox.site.stack.kafka import Kafka, find_class_archive
from mailroom_sandbox.site.stack.ports import free_port

_MAX_WRITING_S = 300  # a few seconds, on a machine that does nothing else


async def provide_class_archive(jar_folder: Path) -> Path:
    """The archive beside the jars; made where there is none for this Java and these jars yet."""
    archive = find_class_archive(jar_folder)
    while not archive.exists():
        try:
            with lock.hold_lock(jar_folder.with_name("classes.lock")):
                await _make_archive(jar_folder, archive)
        except lock.AlreadyRunning:  # somebody else is just making it
            await asyncio.sleep(0.2)
    return archive


async def _make_archive(jar_folder: Path, archive: Path) -> None:
    """By a broker that is started for nothing else: the JVM writes down what it has loaded when it is stopped."""
    with tempfile.TemporaryDirectory(prefix="mailroom-classes-") as name:
        folder = Path(name)
        made = folder / "classes.jsa"
        port = free_port()
        kafka = Kafka(
            folder / "kafka",
            jar_folder,
            port=port,
            controller_port=free_port(avoid=[port]),
            log=folder / "kafka.log",
            java_options=[f"-XX:ArchiveClassesAtExit={made}"],
        )
        kafka.start()
        try:
            await kafka.wait_until_ready()
        finally:
            await kafka.stop(_MAX_WRITING_S)
        if not made.exists():
            said = (folder / "kafka.log").read_text()[-1000:]
            raise Fatal(f"Java did not write {made}: run this again. The end of its log:\n{said}")
        _replace_archives(made, archive)


def _replace_archives(made: Path, archive: Path) -> None:
    for former in archive.parent.glob("classes-*.jsa*"):
        former.unlink()
    # As a whole: who finds it may be starting a broker.
    beside = archive.with_suffix(".jsa.new")
    shutil.copyfile(made, beside)
    beside.replace(archive)


if __name__ == "__main__":  # `make setup`
    asyncio.run(provide_class_archive(asyncio.run(jars.provide_jars(find_home().jars))))

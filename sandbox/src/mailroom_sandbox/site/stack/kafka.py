"""Apache Kafka, one node in KRaft mode, from its jars."""

import asyncio
import base64
import hashlib
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from aiokafka.errors import KafkaError

from mailroom_common.errors import Fatal
from mailroom_common.kafka.client import create_admin_client
from mailroom_sandbox.site.stack import child, jars
from mailroom_sandbox.site.stack.child import Child
from mailroom_sandbox.site.stack.kafka_security import ADMIN, BrokerSecurity, ClusterAccess

READY_S = 180  # after a kill -9 on a busy machine it looks through a thousand logs first
STOP_S = 10  # SIGTERM ends it in half a second, or now and then not at all
_STOPPED = 143  # how a JVM that SIGTERM ended reports success


NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
# For tests that wait for compaction: the cleaner looks within seconds. On a site it would only cost CPU.
QUICK_CLEANING: Mapping[str, str] = MappingProxyType(
    {
        "log.cleaner.backoff.ms": "500",
        "log.retention.check.interval.ms": "1000",
        "log.segment.delete.delay.ms": "1000",
        "log.initial.task.delay.ms": "500",
    }
)


class Kafka:
    """`folder` holds data and settings; it must be locked by the caller (`lock.hold_lock`).

    `security` None leaves it open to whoever reaches loopback. `format_options` are Kafka's own for a new folder, and
    `extra_settings` go behind those of `server.properties`. `java_options` are of the broker's JVM.
    `starts_fast`: the first compiler tier only, which is half the CPU of a start. A broker that is to be measured needs
    both tiers, as one in production has them.
    """

    def __init__(
        self,
        folder: Path,
        jar_folder: Path,
        *,
        port: int,
        controller_port: int,
        log: Path,
        starts_fast: bool = True,
        security: BrokerSecurity | None = None,
        format_options: Sequence[str] = (),
        extra_settings: Mapping[str, str] = NO_SETTINGS,
        java_options: Sequence[str] = (),
    ) -> None:
        self.bootstrap = f"127.0.0.1:{port}"
        self.security = security
        self._folder = folder
        self._jars = jar_folder
        self._port = port
        self._controller_port = controller_port
        self._log = log
        self._starts_fast = starts_fast
        self._format_options = format_options
        self._extra_settings = extra_settings
        self._java_options = java_options
        self._child: Child | None = None

    @property
    def admin_access(self) -> ClusterAccess:
        if self.security is None:
            return ClusterAccess(self.bootstrap)
        return ClusterAccess(self.bootstrap, self.security.build_client_security(ADMIN))

    @property
    def child(self) -> Child:
        assert self._child is not None  # noqa: S101
        return self._child

    def start(self) -> Child:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._link_jars()
        if not (self._folder / "data" / "meta.properties").exists():
            self._format_storage()
        settings = self._write_settings("data")
        command = [*self._java_command(heap="512m"), *self._java_options, "kafka.Kafka", settings]
        self._child = child.spawn_process("kafka", command, log=self._log, cwd=self._folder)
        return self._child

    async def wait_until_ready(self) -> None:
        """Returns once metadata is answered; Fatal when the process ends first or takes too long."""
        deadline = asyncio.get_running_loop().time() + READY_S
        while not await is_cluster_answering(self.admin_access):
            if not self.child.is_running or asyncio.get_running_loop().time() > deadline:
                raise Fatal(f"Kafka does not answer; the end of {self._log}:\n{child.read_tail(self._log)}")
            await asyncio.sleep(0.1)

    async def stop(self, grace_s: float = STOP_S) -> bool:
        """True when it ended as asked."""
        if self._child is None:
            return True
        return await self._child.stop_process(signal.SIGTERM, grace_s) in (_STOPPED, -signal.SIGTERM, 0)

    def _link_jars(self) -> None:
        """The JVM takes an archive for a class path of the same words only, so that is `jars/…` wherever they lie."""
        link = self._folder / "jars"
        if link.is_symlink():
            link.unlink()
        if not link.exists():
            link.symlink_to(self._jars.resolve())

    def _format_storage(self) -> None:
        """Formats beside and moves into place: a half formatted folder can be neither used nor formatted again."""
        shutil.rmtree(self._folder / "data.new", ignore_errors=True)
        settings = self._write_settings("data.new")
        command = [
            *self._java_command(heap="128m"),
            "kafka.tools.StorageTool",
            "format",
            "-t",
            _cluster_id(),
            "-c",
            settings,
            "--standalone",
            *self._format_options,
        ]
        formatted = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        if formatted.returncode != 0:
            raise Fatal(f"Kafka's storage could not be formatted: {formatted.stdout[-1000:]}{formatted.stderr[-1000:]}")
        (self._folder / "data.new").replace(self._folder / "data")

    def _write_settings(self, data: str) -> str:
        own = f"""
log.dirs={data}
listeners=CLIENTS://127.0.0.1:{self._port},CONTROLLER://127.0.0.1:{self._controller_port}
advertised.listeners=CLIENTS://127.0.0.1:{self._port}
controller.quorum.bootstrap.servers=127.0.0.1:{self._controller_port}
"""
        secured = self.security.build_broker_settings() if self.security else NO_SETTINGS
        own += "".join(f"{name}={value}\n" for name, value in {**secured, **self._extra_settings}.items())
        file = self._folder / "server.properties"
        file.touch()
        file.chmod(0o600)  # it may hold the passwords of a secured site
        file.write_text((jars.FILES / "server.properties").read_text() + own)
        (self._folder / "log4j2.properties").write_text((jars.FILES / "log4j2.properties").read_text())
        return "server.properties"

    def _java_command(self, *, heap: str) -> list[str]:
        tuning = ["-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto"]
        if self._starts_fast:
            tuning.append("-XX:TieredStopAtLevel=1")
        settings = ["-Djava.awt.headless=true", "-Dlog4j2.configurationFile=log4j2.properties"]
        archive = find_class_archive(self._jars)
        if archive.exists():
            tuning.append(f"-XX:SharedArchiveFile={archive}")
        class_path = ":".join(f"jars/{name}" for name in sorted(jars.read_listed_hashes()))
        return [find_java(), "-Xms64m", f"-Xmx{heap}", *tuning, *settings, "-cp", class_path]


async def is_cluster_answering(access: ClusterAccess) -> bool:
    """Whether its first broker takes connections and knows the cluster."""
    host, _, port = access.kafka_bootstrap.rpartition(":")
    try:
        # Without this the client logs an error for each refused connection of a start.
        _, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return False
    writer.close()
    admin = create_admin_client(access, request_timeout_ms=2000)
    try:
        await admin.start()
        return bool((await admin.describe_cluster())["brokers"])
    except (KafkaError, OSError):
        return False
    finally:
        await admin.close()


def find_java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(f"{home}/bin/java") if home else shutil.which("java")
    if found is None:
        raise Fatal("Kafka needs a Java 17 runtime: install the Debian package `openjdk-17-jre-headless`")
    return found


def find_class_archive(jar_folder: Path) -> Path:
    """Where the archive for these jars and this Java is, or would be (`class_archive.py`)."""
    java = Path(find_java()).resolve()
    made_from = repr((str(java), java.stat().st_mtime_ns, jars.read_listed_hashes()))
    return jar_folder.with_name(f"classes-{hashlib.sha256(made_from.encode()).hexdigest()[:12]}.jsa")


def _cluster_id() -> str:
    """What `StorageTool random-uuid` prints, without a JVM for it; it may not begin with a dash."""
    made = base64.urlsafe_b64encode(uuid.uuid4().bytes)[:22].decode()
    return made if not made.startswith("-") else _cluster_id()

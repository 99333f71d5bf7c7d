import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.metrics import PARSER_JOBS
from mailroom_common.parser.errors import ParserCrashed, ParserLimit, Unreadable
from mailroom_common.parser.frames import JSON, LENGTH, framed, unframed
from mailroom_common.parser.limits import Limits

_START_S = 60
_READY_BYTES = 4096
_OUTCOMES = {Unreadable: "refused", ParserLimit: "limit", ParserCrashed: "crashed"}


class ParserPool:
    """Opens strangers' files in child processes: fresh interpreters with limits, no environment and no network.

    `size` jobs run at once. A process is replaced after `jobs_per_process` files, and at once when a file broke it; the
    replacement starts while nobody waits for it. `preload` names the modules of the readers. `search_path` adds folders
    to import from (tests).
    """

    def __init__(
        self,
        *,
        size: int = 1,
        jobs_per_process: int = 200,
        limits: Limits | None = None,
        preload: Sequence[str] = (),
        search_path: Sequence[Path] = (),
    ) -> None:
        self._limits = limits or Limits()
        self._slots: asyncio.Queue[_Slot] = asyncio.Queue()
        self._all = [_Slot(jobs_per_process, preload, search_path) for _ in range(size)]

    async def __aenter__(self) -> Self:
        for slot in self._all:
            slot.start()
            self._slots.put_nowait(slot)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.gather(*(slot.close() for slot in self._all))

    async def call(
        self,
        function: str,
        source: Path | bytes,
        *,
        arguments: Mapping[str, JSON] | None = None,
        limits: Limits | None = None,
    ) -> JSON:
        """Run the reader `module:function` on a file, by path or by value, and return its answer.

        Raises:
            Unreadable: the reader's own judgement.
            ParserLimit, ParserCrashed: the file broke the process.
            Unavailable: no process could be started, or it could not open the file, which has not been looked at.
        """
        slot = await self._slots.get()
        try:
            child = await slot.child()
            value = await child.run(function, source, arguments or {}, limits or self._limits)
            PARSER_JOBS.labels("read").inc()
            return value
        except Rejected as error:
            PARSER_JOBS.labels(_OUTCOMES.get(type(error), "crashed")).inc()
            raise
        finally:
            slot.renew_if_spent()
            self._slots.put_nowait(slot)


class _Slot:
    """A place for one process, which changes over time."""

    def __init__(self, jobs_per_process: int, preload: Sequence[str], search_path: Sequence[Path]) -> None:
        self._jobs_per_process = jobs_per_process
        self._preload = preload
        self._search_path = search_path
        self._starting: asyncio.Task[_Child] | None = None

    def start(self) -> asyncio.Task["_Child"]:
        self._starting = asyncio.create_task(_Child.start(self._preload, self._search_path))
        return self._starting

    async def child(self) -> "_Child":
        # Shielded: a caller that is cancelled leaves the process to the next one.
        return await asyncio.shield(self._starting or self.start())

    def renew_if_spent(self) -> None:
        starting = self._starting
        if starting is None or not starting.done():
            return
        if starting.cancelled() or starting.exception() is not None:
            self._starting = None  # the next caller starts it: no loop round a machine that cannot
        elif starting.result().is_spent(self._jobs_per_process):
            self._starting = asyncio.create_task(self._replace(starting.result()))

    async def _replace(self, spent: "_Child") -> "_Child":
        await spent.end()
        return await _Child.start(self._preload, self._search_path)

    async def close(self) -> None:
        if self._starting is None:
            return
        self._starting.cancel()
        with contextlib.suppress(asyncio.CancelledError, Unavailable):
            await (await self._starting).end()


class _Child:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a parser process is started with both pipes")
        self._process = process
        self._jobs, self._answers = process.stdin, process.stdout
        self._ran = 0
        self._is_broken = False
        self.confined_by: list[str] = []

    @classmethod
    async def start(cls, preload: Sequence[str], search_path: Sequence[Path]) -> "_Child":
        try:
            process = await cls._spawn(preload, search_path)
        except OSError as error:  # no memory, no descriptors, too many processes
            raise Unavailable(f"a parser process could not be started: {error.strerror}") from error
        child = cls(process)
        try:
            async with asyncio.timeout(_START_S):
                ready: Any = await child._receive(_READY_BYTES)
            child.confined_by = ready["ready"]
        except (asyncio.IncompleteReadError, ParserLimit, TimeoutError, OSError) as error:
            await child.end()
            raise Unavailable("a parser process did not start") from error
        except BaseException:
            await child.end()
            raise
        return child

    @staticmethod
    async def _spawn(preload: Sequence[str], search_path: Sequence[Path]) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            # -I: nothing from the environment, the working folder or the user's packages; -B: it may write no files.
            *("-I", "-B", "-X", "utf8", "-m", "mailroom_common.parser.child"),
            str(os.getpid()),
            os.pathsep.join(str(folder.absolute()) for folder in search_path),
            *preload,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # What libraries complain about quotes the file: it belongs in no log.
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )

    def is_spent(self, jobs: int) -> bool:
        return self._is_broken or self._ran >= jobs or self._process.returncode is not None

    def kill(self) -> None:
        self._is_broken = True
        self._jobs.close()
        with contextlib.suppress(ProcessLookupError):
            # Its own session, so its whole group: also what it may have started after all.
            os.killpg(self._process.pid, signal.SIGKILL)

    async def end(self) -> None:
        self.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._answers.read()  # what is left in the pipe would keep it open
        await self._process.wait()

    async def run(self, function: str, source: Path | bytes, arguments: Mapping[str, JSON], limits: Limits) -> JSON:
        self._ran += 1
        by_value = source if isinstance(source, bytes) else b""
        request: JSON = {
            "function": function,
            "arguments": arguments,
            "path": None if isinstance(source, bytes) else str(source),
            "size_bytes": len(by_value),
            "limits": asdict(limits),
        }
        try:
            async with asyncio.timeout(limits.wall_s):
                self._jobs.write(framed(request) + by_value)
                await self._jobs.drain()
                answer: Any = await self._receive(limits.output_bytes)
        except TimeoutError as late:
            await self.end()
            raise ParserLimit("time") from late
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as gone:
            await self._raise_death(gone)
        except BaseException:
            # The caller is cancelled, or too much came: the process is in the middle of something.
            self.kill()
            raise
        return self._judged(answer)

    async def _receive(self, limit_bytes: int) -> JSON:
        (size,) = LENGTH.unpack(await self._answers.readexactly(LENGTH.size))
        if size > limit_bytes:
            raise ParserLimit("output")
        return unframed(await self._answers.readexactly(size))

    def _judged(self, answer: Any) -> JSON:
        match answer:
            case {"value": value}:
                result: JSON = value
                return result
            case {"unreadable": str(reason)}:
                raise Unreadable(reason)
            case {"limit": str(limit)}:
                self._is_broken = True
                raise ParserLimit(limit)
            case {"unopened": str(error)}:
                raise Unavailable(f"the parser process could not open the file: {error}")
            case {"raised": str(error)}:
                raise ParserCrashed(f"the reader raised {error}")
            case _:
                self.kill()
                raise ParserCrashed("an answer of no known kind")

    async def _raise_death(self, cause: Exception) -> None:
        # The pipe closes a moment before the process is reaped; one that closed it and lives on is killed.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._process.wait()
        code = self._process.returncode
        await self.end()
        if code == -signal.SIGXCPU:
            raise ParserLimit("cpu") from cause
        how = "it closed its pipe" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
        raise ParserCrashed(how, killed=code == -signal.SIGKILL) from cause

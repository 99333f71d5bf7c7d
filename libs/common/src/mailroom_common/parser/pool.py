"""The service's side of the parser process: a pool of confined child processes that read untrusted files."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.metrics import PARSER_CONFINEMENT, PARSER_FILES
from mailroom_common.parser.confinement import (
    ConfinementLayer,
    ParserUnconfined,
    forbid_dumping_this_process,
    has_required_layers,
)
from mailroom_common.parser.limits import ParserLimits
from mailroom_common.parser.messages import (
    JSON,
    LENGTH_PREFIX,
    ParserCrashed,
    ParserLimitReached,
    UnreadableFile,
    decode_message,
    encode_message,
)

_START_TIMEOUT_S = 60
_MAX_FIRST_MESSAGE_BYTES = 4096
_METRIC_OUTCOMES = {UnreadableFile: "refused", ParserLimitReached: "limit", ParserCrashed: "crashed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProcessOptions:
    files_per_process: int
    limits: ParserLimits
    preload: Sequence[str]
    search_path: Sequence[Path]
    allow_unconfined: bool


class ParserPool:
    """Opens untrusted files in child processes: fresh interpreters with limits, no environment and no network.

    `size` files are read at once. A process is replaced after `files_per_process` files, and at once when a file broke
    it; the replacement starts while nobody waits for it. `limits` are hard: those of one call can only be lower.
    `preload` names the modules of the readers, `search_path` adds folders to import from (tests). A process that lacks
    a required layer of its confinement reads nothing, unless `allow_unconfined`.
    """

    def __init__(
        self,
        *,
        size: int = 1,
        files_per_process: int = 200,
        limits: ParserLimits | None = None,
        preload: Sequence[str] = (),
        search_path: Sequence[Path] = (),
        allow_unconfined: bool = False,
    ) -> None:
        self._limits = limits or ParserLimits()
        options = _ProcessOptions(
            files_per_process=files_per_process,
            limits=self._limits,
            preload=preload,
            search_path=search_path,
            allow_unconfined=allow_unconfined,
        )
        self._free_slots: asyncio.Queue[_ProcessSlot] = asyncio.Queue()
        self._slots = [_ProcessSlot(options) for _ in range(size)]

    async def __aenter__(self) -> Self:
        # Before the first child starts: it tries whether it can read the environment of this process.
        forbid_dumping_this_process()
        for slot in self._slots:
            slot.start_process()
            self._free_slots.put_nowait(slot)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.gather(*(slot.close() for slot in self._slots))

    async def check_confinement(self) -> dict[str, bool]:
        """Wait for a process, and say which layers confine it.

        Raises:
            ParserUnconfined: it lacks a required one.
            Unavailable: no process could be started.
        """
        slot = await self._free_slots.get()
        try:
            process = await slot.get_process()
            return {layer.value: layer in process.layers for layer in ConfinementLayer}
        finally:
            slot.replace_if_spent()
            self._free_slots.put_nowait(slot)

    async def run_reader(
        self,
        function: str,
        source: Path | bytes,
        *,
        arguments: Mapping[str, JSON] | None = None,
        limits: ParserLimits | None = None,
    ) -> JSON:
        """Run the reader `module:function` on a file, by path or by value, and return its answer.

        Raises:
            UnreadableFile: the reader's own judgement.
            ParserLimitReached, ParserCrashed: the file broke the process.
            Unavailable: no process could be started, or the file could not be opened, of which nothing was read.
            ParserUnconfined: as `check_confinement`.
        """
        content = source if isinstance(source, bytes) else await asyncio.to_thread(_read_file, source)
        slot = await self._free_slots.get()
        try:
            process = await slot.get_process()
            value = await process.run_reader(function, content, arguments or {}, limits or self._limits)
            PARSER_FILES.labels("read").inc()
            return value
        except Rejected as error:
            PARSER_FILES.labels(_METRIC_OUTCOMES.get(type(error), "crashed")).inc()
            raise
        finally:
            slot.replace_if_spent()
            self._free_slots.put_nowait(slot)


class _ProcessSlot:
    """A place for one process: the process changes over time."""

    def __init__(self, options: _ProcessOptions) -> None:
        self._options = options
        self._starting: asyncio.Task[_ParserProcess] | None = None

    def start_process(self) -> asyncio.Task["_ParserProcess"]:
        self._starting = asyncio.create_task(_ParserProcess.start_process(self._options))
        return self._starting

    async def get_process(self) -> "_ParserProcess":
        # Shielded: a caller that is cancelled leaves the starting process to the next one.
        return await asyncio.shield(self._starting or self.start_process())

    def replace_if_spent(self) -> None:
        starting = self._starting
        if starting is None or not starting.done():
            return
        if starting.cancelled() or starting.exception() is not None:
            self._starting = None  # the next caller starts one: no loop on a machine that cannot start any
        elif starting.result().is_spent(self._options.files_per_process):
            self._starting = asyncio.create_task(self._replace_process(starting.result()))

    async def _replace_process(self, spent: "_ParserProcess") -> "_ParserProcess":
        await spent.end_process()
        return await _ParserProcess.start_process(self._options)

    async def close(self) -> None:
        if self._starting is None:
            return
        self._starting.cancel()
        with contextlib.suppress(asyncio.CancelledError, Unavailable, ParserUnconfined):
            await (await self._starting).end_process()


class _ParserProcess:
    """One child process and the two pipes to it; it reads one file at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a parser process is started with both pipes")
        self._process = process
        self._requests, self._answers = process.stdin, process.stdout
        self._files_read = 0
        self._is_broken = False
        self.layers: frozenset[str] = frozenset()

    @classmethod
    async def start_process(cls, options: _ProcessOptions) -> "_ParserProcess":
        try:
            process = await cls._start_interpreter(options)
        except OSError as error:  # no memory, no descriptors, too many processes
            raise Unavailable(f"a parser process could not be started: {error.strerror}") from error
        child = cls(process)
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                first: Any = await child._receive_message(_MAX_FIRST_MESSAGE_BYTES)
            child._report_layers(first["layers"])
            if not options.allow_unconfined and not has_required_layers(child.layers):
                raise ParserUnconfined(child.layers)
        except (asyncio.IncompleteReadError, ParserLimitReached, TimeoutError, OSError) as error:
            await child.end_process()
            # A process that has preloaded more than its limit on memory ends before its first message.
            raise Unavailable(
                "a parser process did not start: MAILROOM_PARSER_MEMORY_BYTES "
                f"({options.limits.memory_bytes}) may be too small for the readers, or one of them cannot be imported"
            ) from error
        except BaseException:
            await child.end_process()
            raise
        return child

    @staticmethod
    async def _start_interpreter(options: _ProcessOptions) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            # -I: nothing from the environment, the working folder or the user's packages; -B: it may write no files.
            *("-I", "-B", "-X", "utf8", "-m", "mailroom_common.parser.child"),
            str(os.getpid()),
            str(options.files_per_process),
            json.dumps(asdict(options.limits)),
            os.pathsep.join(str(folder.absolute()) for folder in options.search_path),
            *options.preload,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            # What libraries complain about quotes the file: it belongs in no log.
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )

    def _report_layers(self, layers: Sequence[str]) -> None:
        self.layers = frozenset(layers)
        for layer in ConfinementLayer:
            PARSER_CONFINEMENT.labels(layer.value).set(layer in self.layers)

    def is_spent(self, max_files: int) -> bool:
        return self._is_broken or self._files_read >= max_files or self._process.returncode is not None

    def kill_group(self) -> None:
        self._is_broken = True
        self._requests.close()
        with contextlib.suppress(ProcessLookupError):
            # It leads a session, so this is its whole group: also a process that it may have started after all.
            os.killpg(self._process.pid, signal.SIGKILL)

    async def end_process(self) -> None:
        self.kill_group()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._answers.read()  # what is left in the pipe would keep it open
        await self._process.wait()

    async def run_reader(
        self, function: str, content: bytes, arguments: Mapping[str, JSON], limits: ParserLimits
    ) -> JSON:
        self._files_read += 1
        request: JSON = {
            "function": function,
            "arguments": arguments,
            "size_bytes": len(content),
            "limits": asdict(limits),
        }
        try:
            async with asyncio.timeout(limits.wall_s):
                self._requests.write(encode_message(request) + content)
                await self._requests.drain()
                answer: Any = await self._receive_message(limits.output_bytes)
        except TimeoutError as error:
            await self.end_process()
            raise ParserLimitReached("time") from error
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
            await self._raise_for_exit(error)
        except BaseException:
            # The caller is cancelled, or the answer is too large: the process is in the middle of something.
            self.kill_group()
            raise
        return self._interpret_answer(answer)

    async def _receive_message(self, max_bytes: int) -> JSON:
        (size,) = LENGTH_PREFIX.unpack(await self._answers.readexactly(LENGTH_PREFIX.size))
        # Before a byte of it is read: the length may be a hostile file's.
        if size > max_bytes:
            raise ParserLimitReached("output")
        return decode_message(await self._answers.readexactly(size))

    def _interpret_answer(self, answer: Any) -> JSON:
        match answer:
            case {"value": value}:
                result: JSON = value
                return result
            case {"unreadable": str(reason)}:
                raise UnreadableFile(reason)
            case {"limit": str(limit)}:
                self._is_broken = True
                raise ParserLimitReached(limit)
            case {"raised": str(error)}:
                raise ParserCrashed(f"the reader raised {error}")
            case _:
                self.kill_group()
                raise ParserCrashed("an answer of no known kind")

    async def _raise_for_exit(self, cause: Exception) -> None:
        # The pipe closes a moment before the process is reaped; one that closed it and still runs is killed.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._process.wait()
        code = self._process.returncode
        await self.end_process()
        if code == -signal.SIGXCPU:
            raise ParserLimitReached("cpu") from cause
        how = "it closed its pipe" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
        raise ParserCrashed(how, killed=code == -signal.SIGKILL) from cause


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:  # the machine's trouble
        raise Unavailable(f"the file to parse could not be opened: {type(error).__name__}") from error

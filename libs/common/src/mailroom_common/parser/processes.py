"""What the service holds of its parser processes: the fork server, and each process that it forks for a document."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.metrics import PARSER_CONFINEMENT, PARSER_FILES
from mailroom_common.parser.answers import AnswerMalformed, decode_answer, decode_nothing, interpret_answer
from mailroom_common.parser.confinement import ConfinementLayer, ParserUnconfined, has_required_layers
from mailroom_common.parser.contents import Content, ContentBounds, ContentStream, receive_message
from mailroom_common.parser.limits import ParserLimits
from mailroom_common.parser.messages import (
    ENDED,
    ENDING,
    JSON,
    ParserCrashed,
    ParserLimitReached,
    UnreadableFile,
    encode_message,
)
from mailroom_common.parser.pipes import has_bytes, is_readable, read_exactly, write_all

_START_TIMEOUT_S = 60
_STOP_TIMEOUT_S = 3
_ENDING_TIMEOUT_S = 1
_KILLING_SIGNALS = frozenset({-signal.SIGKILL, -signal.SIGTERM})  # as exit codes have them
_MAX_FIRST_MESSAGE_BYTES = 16384
_METRIC_OUTCOMES = {UnreadableFile: "refused", ParserLimitReached: "limit", ParserCrashed: "crashed"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    limits: ParserLimits
    preload: Sequence[str]
    search_path: Sequence[Path]
    private_paths: Sequence[Path]
    allow_unconfined: bool
    unreadable_reasons: Collection[str] | None


class ForkServer:
    """The process that has the readers loaded, and the socket by which it is asked for copies of itself."""

    def __init__(self, process: asyncio.subprocess.Process, control: socket.socket) -> None:
        self._process = process
        self._control = control
        self.forked_processes = 0
        self.is_retired = False

    @property
    def is_reaped(self) -> bool:
        return self._process.returncode is not None

    @classmethod
    async def start(cls, options: ProcessOptions) -> Self:
        control, servers_end = socket.socketpair()
        control.setblocking(False)
        try:
            with servers_end:
                process = await cls._start_interpreter(options, servers_end)
        except OSError as error:  # no memory, no descriptors, too many processes
            control.close()
            raise Unavailable(f"a parser process could not be started: {error.strerror}") from error
        server = cls(process, control)
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                first: Any = await receive_message(control.fileno(), _MAX_FIRST_MESSAGE_BYTES)
            if first["threads"] > 1:
                raise RuntimeError(f"a module of {', '.join(options.preload)} starts threads as it is imported")
        except (EOFError, ParserLimitReached, TimeoutError, OSError) as error:
            was_killed = await server._was_killed()
            await server.kill_group()
            if was_killed:
                raise Unavailable(
                    "a parser process was killed as it started: by somebody, or for want of memory"
                ) from error
            # A process that has preloaded more than its limit on memory ends before its first message.
            raise Unavailable(
                "a parser process did not start: MAILROOM_PARSER_MEMORY_BYTES "
                f"({options.limits.memory_bytes}) may be too small for the readers, or one of them cannot be imported"
            ) from error
        except BaseException:
            await server.kill_group()
            raise
        return server

    @staticmethod
    async def _start_interpreter(options: ProcessOptions, control: socket.socket) -> asyncio.subprocess.Process:
        told = {
            "service": os.getpid(),
            "limits": asdict(options.limits),
            "preload": [*options.preload],
            "search_path": [str(folder.absolute()) for folder in options.search_path],
            "private_paths": [str(path) for path in options.private_paths],
        }
        return await asyncio.create_subprocess_exec(
            sys.executable,
            # -I: nothing from the environment, the working folder or the user's packages; -B: it may write no files.
            *("-I", "-B", "-X", "utf8", "-m", "mailroom_common.parser.fork_server", json.dumps(told)),
            stdin=control.fileno(),
            stdout=asyncio.subprocess.DEVNULL,
            # What libraries complain about quotes the file: it belongs in no log.
            stderr=asyncio.subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )

    def has_ended(self) -> bool:
        # After its first message it says nothing on this socket: whatever can be read is its end.
        return is_readable(self._control.fileno())

    def fork_process(self) -> "ParserProcess":
        """Ask for a process; whether there is one shows at its first message.

        Raises:
            OSError: no descriptors are left, or the server has ended.
        """
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            (read_request, write_request), (read_answer, write_answer) = os.pipe(), os.pipe()
            supervision, supervising = socket.socketpair()
            for descriptor in (read_request, write_answer):
                theirs.callback(os.close, descriptor)
            for descriptor in (write_request, read_answer):
                ours.callback(os.close, descriptor)
                os.set_blocking(descriptor, False)
            theirs.callback(supervising.close)
            ours.callback(supervision.close)
            supervision.setblocking(False)
            socket.send_fds(self._control, [b"F"], [read_request, write_answer, supervising.fileno()])
            self.forked_processes += 1
            return ParserProcess(self, write_request, read_answer, supervision, ours.pop_all())

    def retire(self) -> None:
        """Fork no more; the server ends with the last process that it has."""
        self.is_retired = True
        with contextlib.suppress(OSError):  # it has ended already
            self._control.shutdown(socket.SHUT_WR)

    async def close(self) -> None:
        """After its last process was ended: the server waits for them, so that none is left behind."""
        self.retire()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                await self._process.wait()
        await self.kill_group()

    async def _was_killed(self) -> bool:
        """Whether another process, or the kernel, has ended it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_TIMEOUT_S):
                return await self._process.wait() in _KILLING_SIGNALS
        return False

    async def kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            # It leads a session, so this is its whole group: the processes that it has forked too.
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._control.close()


class ParserProcess:
    """A process for one document and its descriptors; it runs one reader at a time."""

    def __init__(
        self,
        server: ForkServer,
        requests: int,
        answers: int,
        supervision: socket.socket,
        descriptors: contextlib.ExitStack,
    ) -> None:
        self.server = server
        self._requests, self._answers, self._supervision = requests, answers, supervision
        self._descriptors = descriptors
        self._is_open = True
        self._is_answering = False
        self.layers: frozenset[str] = frozenset()
        self._unreadable_reasons: Collection[str] | None = None

    @staticmethod
    async def start(server: ForkServer, options: ProcessOptions) -> "ParserProcess":
        try:
            process = server.fork_process()
        except OSError as error:
            raise Unavailable(f"a parser process could not be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                first = await receive_message(process._answers, _MAX_FIRST_MESSAGE_BYTES)
            layers, readable_files = decode_answer(_decode_first_message, first)
            process._report_layers(layers)
            process._unreadable_reasons = options.unreadable_reasons
            if not options.allow_unconfined and not has_required_layers(process.layers):
                raise ParserUnconfined(process.layers, readable_files)
        except (AnswerMalformed, ParserLimitReached, ValueError) as error:
            process.distrust()
            raise Unavailable("a parser process began with what none of ours says; another is started") from error
        except (EOFError, TimeoutError) as error:
            kind, number = await process._read_ending() or (ENDED, 0)
            process.end()
            reason = "it ended at once" if kind == ENDED else os.strerror(number)
            raise Unavailable(f"a parser process could not be started: {reason}") from error
        except BaseException:
            process.end()
            raise
        return process

    def _report_layers(self, layers: Sequence[str]) -> None:
        self.layers = frozenset(layers)
        for layer in ConfinementLayer:
            PARSER_CONFINEMENT.labels(layer.value).set(layer in self.layers)

    def has_ended(self) -> bool:
        """Asked before it has a document: then its pipe of answers tells of nothing but its end, a moment before the
        fork server does."""
        return not self._is_open or is_readable(self._supervision.fileno()) or is_readable(self._answers)

    def end(self) -> None:
        """Close what we have of it; the fork server kills it for that."""
        if self._is_open:
            self._is_open = False
            self._descriptors.close()

    def distrust(self) -> None:
        """A file may have found out where things are in memory, which is the same in all processes of this server."""
        self.end()
        self.server.retire()

    def finish(self) -> None:
        """Its document is done."""
        if self._is_open and not self._is_answering and has_bytes(self._answers):
            self.distrust()  # behind its last answer it went on, and nobody has asked
        self.end()

    async def run_reader(
        self,
        function: str,
        source: Path | bytes,
        decode: Callable[[Any], T],
        *,
        arguments: Mapping[str, JSON] | None = None,
        limits: ParserLimits,
    ) -> T:
        request = await _build_request(function, source, arguments, limits)
        with self._exchange():
            async with self._end_on_failure(), asyncio.timeout(limits.wall_s):
                await self._send_request(request)
                answer = await receive_message(self._answers, limits.output_bytes)
            return self._read_answer(answer, decode)

    async def read_contents(
        self,
        function: str,
        source: Path | bytes,
        decode: Callable[[Content], T],
        *,
        arguments: Mapping[str, JSON] | None = None,
        limits: ParserLimits,
        bounds: ContentBounds,
    ) -> AsyncGenerator[T, None]:
        request = await _build_request(function, source, arguments, limits, streams_contents=True)
        stream = ContentStream(self._answers, self._end_on_failure, limits, bounds)
        with self._exchange():
            await stream.wait_for(self._send_request(request))
            async for content in stream.read_contents():
                with self._end_on_malformed():
                    decoded = decode_answer(decode, content)
                yield decoded
            self._read_answer(stream.last_message, decode_nothing)

    async def _send_request(self, request: bytes) -> None:
        if is_readable(self._answers) and await read_exactly(self._answers, 1):
            raise AnswerMalformed("it wrote before it was asked")
        await write_all(self._requests, request)

    def _read_answer(self, answer: Any, decode: Callable[[Any], T]) -> T:
        with self._end_on_malformed():
            try:
                return decode_answer(decode, interpret_answer(answer, self._unreadable_reasons))
            except ParserLimitReached:
                self.end()
                raise

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        """From a request to its answer, which a caller who is cancelled, or has seen enough, does not wait for."""
        self._is_answering = True
        with _count_file():
            try:
                yield
            except Rejected:
                self._is_answering = False
                raise
        self._is_answering = False

    @contextmanager
    def _end_on_malformed(self) -> Iterator[None]:
        try:
            yield
        except AnswerMalformed as error:
            self.distrust()
            raise ParserCrashed(str(error)) from error

    @asynccontextmanager
    async def _end_on_failure(self) -> AsyncIterator[None]:
        """The process ends with whatever keeps an exchange from coming to its end, and errors become ours."""
        if not self._is_open:
            raise ParserCrashed("it was ended by an earlier reader")
        try:
            with self._end_on_malformed():
                yield
        except TimeoutError as error:
            # A process that was taken over may wait for its end: what it found out must not help the next file.
            self.distrust()
            raise ParserLimitReached("time") from error
        except (EOFError, ConnectionError) as error:
            await self._raise_for_ending(error)
        except (ValueError, RecursionError) as error:
            self.distrust()
            raise ParserCrashed("an answer that is no JSON") from error
        except ParserLimitReached:
            # More than it may say, which our reader would have kept to itself.
            self.distrust()
            raise
        except BaseException:
            # The caller is cancelled: the process is in the middle of something.
            self.end()
            raise

    async def _raise_for_ending(self, cause: Exception) -> NoReturn:
        # The pipe closes a moment before the process is reaped; one that closed it and still runs is killed.
        ending = await self._read_ending()
        # However it ended: one that was taken over may choose a limit on its time, soft or hard, for its end.
        self.distrust()
        if ending is None:
            # Nor does the fork server say anything when it was killed itself, and its processes with it.
            killed = self.server.has_ended()
            how = "its fork server ended" if killed else "it closed its pipe"
        else:
            _, code = ending
            if code == -signal.SIGXCPU:
                raise ParserLimitReached("cpu") from cause
            killed = code == -signal.SIGKILL
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise ParserCrashed(how, killed=killed) from cause

    async def _read_ending(self) -> tuple[bytes, int] | None:
        with contextlib.suppress(TimeoutError, EOFError, OSError):
            async with asyncio.timeout(_ENDING_TIMEOUT_S):
                kind, number = ENDING.unpack(await read_exactly(self._supervision.fileno(), ENDING.size))
                return kind, number
        return None


@contextmanager
def _count_file() -> Iterator[None]:
    try:
        yield
    except Rejected as error:
        PARSER_FILES.labels(_METRIC_OUTCOMES.get(type(error), "crashed")).inc()
        raise
    PARSER_FILES.labels("read").inc()


async def _build_request(
    function: str,
    source: Path | bytes,
    arguments: Mapping[str, JSON] | None,
    limits: ParserLimits,
    *,
    streams_contents: bool = False,
) -> bytes:
    content = source if isinstance(source, bytes) else await asyncio.to_thread(_read_file, source)
    request: JSON = {
        "function": function,
        "arguments": arguments or {},
        "streams_contents": streams_contents,
        "size_bytes": len(content),
        "limits": asdict(limits),
    }
    return encode_message(request) + content


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:  # the machine's trouble
        raise Unavailable(f"the file to parse could not be opened: {type(error).__name__}") from error


def _decode_first_message(first: Any) -> tuple[list[str], list[str]]:
    return [str(layer) for layer in first["layers"]], [str(file) for file in first["readable_files"]]

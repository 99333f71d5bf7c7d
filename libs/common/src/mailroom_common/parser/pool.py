"""The service's side of the parser: confined processes, one for each document, that read untrusted files."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from mailroom_common.errors import Unavailable
from mailroom_common.parser.confinement import ConfinementLayer, ParserUnconfined, forbid_dumping_this_process
from mailroom_common.parser.contents import Content, ContentBounds
from mailroom_common.parser.limits import ParserLimits
from mailroom_common.parser.messages import JSON
from mailroom_common.parser.processes import ForkServer, ParserProcess, ProcessOptions
from mailroom_common.tenant_turns import TenantPlaces

T = TypeVar("T")


class ParserPool:
    """Opens untrusted files in processes with limits, no environment and no network, each forked for one document.

    `size` documents are read at once; where more are to be, tenants take turns. The process for the next document is
    forked while nobody waits for it. `limits`
    are hard: those of one call can only be lower. `preload` names the modules of the readers, `search_path` adds
    folders to import from (tests). A process that lacks a required layer of its confinement, or can open one of
    `private_paths`, reads nothing, unless `allow_unconfined`. `unreadable_reasons` are those for which its readers
    refuse files, None for any.

    The fork server is replaced after `processes_per_server` processes, and when one crashed or answered as no reader of
    ours does: all its processes have the same addresses in memory, and a hostile file must not try what an earlier one
    found out.
    """

    def __init__(
        self,
        *,
        size: int = 1,
        processes_per_server: int = 200,
        limits: ParserLimits | None = None,
        preload: Sequence[str] = (),
        search_path: Sequence[Path] = (),
        private_paths: Sequence[Path] = (),
        allow_unconfined: bool = False,
        unreadable_reasons: Collection[str] | None = None,
    ) -> None:
        self._options = ProcessOptions(
            limits=limits or ParserLimits(),
            preload=preload,
            search_path=search_path,
            private_paths=private_paths,
            allow_unconfined=allow_unconfined,
            unreadable_reasons=unreadable_reasons,
        )
        self._size = size
        self._places = TenantPlaces(size)
        self._processes_per_server = processes_per_server
        self._starting_server: asyncio.Task[ForkServer] | None = None
        self._servers: list[ForkServer] = []
        # One for each free place: a process that is being started for the next document, or None where that failed.
        self._processes: asyncio.Queue[asyncio.Task[ParserProcess] | None] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        # Before the first process starts: it tries whether it can read the environment of this one.
        forbid_dumping_this_process()
        for _ in range(self._size):
            self._processes.put_nowait(self._start_process())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while not self._processes.empty():
            await _end_started_process(self._processes.get_nowait())
        if self._starting_server is not None:
            self._starting_server.cancel()
            await asyncio.wait({self._starting_server})
        await asyncio.gather(*(server.close() for server in self._servers))

    async def check_confinement(self) -> dict[str, bool]:
        """Wait for a process, and say which layers confine it.

        Raises:
            ParserUnconfined: it lacks a required one.
            Unavailable: no process could be started.
        """
        async with self._places.hold_place(""), self._take_process() as process:
            return {layer.value: layer in process.layers for layer in ConfinementLayer}

    async def run_reader(
        self,
        function: str,
        source: Path | bytes,
        decode: Callable[[Any], T],
        *,
        arguments: Mapping[str, JSON] | None = None,
        limits: ParserLimits | None = None,
    ) -> T:
        """As `DocumentParser.run_reader`, in a process for this call alone."""
        async with self.open_document() as document:
            return await document.run_reader(function, source, decode, arguments=arguments, limits=limits)

    @asynccontextmanager
    async def open_document(self, tenant_id: str = "") -> AsyncIterator["DocumentParser"]:
        """A process for one document, which ends with the block. `tenant_id` says whose, where several may wait.

        Raises:
            Unavailable: no process could be started, or too many wait for one.
            ParserUnconfined: as `check_confinement`.
        """
        async with self._places.hold_place(tenant_id), self._take_process() as process:
            yield DocumentParser(process, self._options.limits)

    @asynccontextmanager
    async def _take_process(self) -> AsyncIterator[ParserProcess]:
        starting = self._processes.get_nowait() or self._start_process()
        try:
            process = await self._wait_for_process(starting)
        except BaseException:
            # A caller that is cancelled leaves the starting process to the next one. Where none could be started the
            # next caller tries: no loop on a machine that cannot start any.
            self._processes.put_nowait(None if starting.done() else starting)
            raise
        try:
            yield process
        finally:
            process.finish()
            self._processes.put_nowait(self._start_process())

    async def _wait_for_process(self, starting: asyncio.Task[ParserProcess]) -> ParserProcess:
        process = await asyncio.shield(starting)
        if process.has_ended() or process.server.is_retired:  # killed while it waited for its document, or distrusted
            process.end()
            process = await self._start_process()
        return process

    def _start_process(self) -> asyncio.Task[ParserProcess]:
        return asyncio.create_task(self._fork_process())

    async def _fork_process(self) -> ParserProcess:
        return await ParserProcess.start(await self._find_server(), self._options)

    async def _find_server(self) -> ForkServer:
        starting = self._starting_server
        if starting is not None and starting.done() and self._is_spent(starting):
            starting = None
        if starting is None:
            starting = self._starting_server = asyncio.create_task(self._start_server())
        # Shielded: others wait for it too.
        return await asyncio.shield(starting)

    def _is_spent(self, started: asyncio.Task[ForkServer]) -> bool:
        if started.cancelled() or started.exception() is not None:
            return True
        server = started.result()
        if server.forked_processes >= self._processes_per_server:
            server.retire()
        return server.is_retired or server.has_ended()

    async def _start_server(self) -> ForkServer:
        server = await ForkServer.start(self._options)
        self._servers = [*(other for other in self._servers if not other.is_reaped), server]
        return server


class DocumentParser:
    """The process for one document."""

    def __init__(self, process: ParserProcess, limits: ParserLimits) -> None:
        self._process = process
        self._limits = limits

    async def run_reader(
        self,
        function: str,
        source: Path | bytes,
        decode: Callable[[Any], T],
        *,
        arguments: Mapping[str, JSON] | None = None,
        limits: ParserLimits | None = None,
    ) -> T:
        """Run the reader `module:function` on a file, by path or by value, and return its answer.

        `decode` makes it what the caller works with, and raises a ValueError or its like of an answer that the reader
        does not give: the file has taken the process over then.

        Raises:
            UnreadableFile: the reader's own judgement.
            ParserLimitReached, ParserCrashed: the file broke the process.
            Unavailable: the file could not be opened, of which nothing was read.
        """
        limits = limits or self._limits
        return await self._process.run_reader(function, source, decode, arguments=arguments, limits=limits)

    def read_contents(
        self,
        function: str,
        source: Path | bytes,
        decode: Callable[[Content], T],
        *,
        arguments: Mapping[str, JSON] | None = None,
        limits: ParserLimits | None = None,
        bounds: ContentBounds | None = None,
    ) -> AsyncGenerator[T, None]:
        """What the reader `module:function` takes out of a file, one content after the other.

        Raises, after the contents that came before it: as `run_reader`.
        """
        return self._process.read_contents(
            function,
            source,
            decode,
            arguments=arguments,
            limits=limits or self._limits,
            bounds=bounds or ContentBounds(),
        )


async def _end_started_process(starting: asyncio.Task[ParserProcess] | None) -> None:
    if starting is None:
        return
    starting.cancel()
    with contextlib.suppress(asyncio.CancelledError, Unavailable, ParserUnconfined):
        (await starting).end()

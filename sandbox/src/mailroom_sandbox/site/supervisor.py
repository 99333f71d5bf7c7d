"""Keeps processes running: what dies is started again, a little later each time, until all are stopped together."""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mailroom_common.errors import Fatal, SettingsError
from mailroom_sandbox.site.stack import child
from mailroom_sandbox.site.stack.child import Child

EXIT_SETTINGS = 78  # a service's word that no restart can help
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
_STEADY_S = 20.0  # who lived so long is restarted without a pause that remembers earlier deaths


@dataclass(frozen=True, slots=True)
class Program:
    """`start` spawns it and returns at once; `stop_signal` ends it in order."""

    name: str
    start: Callable[[], Child]
    log: Path
    stop_signal: signal.Signals = signal.SIGTERM


@dataclass(slots=True)
class Supervisor:
    """`on_change` hears each new process id; `on_death` a name and an exit code that nobody asked for."""

    on_change: Callable[[dict[str, int]], None]
    on_death: Callable[[str, int], None]
    _children: dict[str, Child] = field(default_factory=dict)
    _keepers: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)
    _stop_signals: dict[str, signal.Signals] = field(default_factory=dict)
    _stopping: set[str] = field(default_factory=set)
    _failure: "asyncio.Future[None] | None" = None

    @property
    def pids(self) -> dict[str, int]:
        return {name: kept.pid for name, kept in self._children.items()}

    def keep_running(self, program: Program) -> None:
        """Starts the program and keeps it running. Call it from the main thread (`child.spawn_process`)."""
        self._stop_signals[program.name] = program.stop_signal
        self._start_program(program)
        self._keepers[program.name] = asyncio.create_task(self._restart_on_death(program), name=f"keep {program.name}")

    async def wait_for_failure(self) -> None:
        """Waits; raises when a program says that starting it again cannot help."""
        if self._failure is None:
            self._failure = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._failure)

    async def stop_programs(self, names: list[str], grace_s: float) -> None:
        """Stops these together, in order for `grace_s`, then by force; returns when nothing of them is left."""
        self._stopping.update(names)
        here = [name for name in names if name in self._children]
        await asyncio.gather(*(self._children[name].stop_process(self._stop_signals[name], grace_s) for name in here))
        keepers = [self._keepers.pop(name) for name in here if name in self._keepers]
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        for name in here:
            del self._children[name]

    def resume_all(self) -> None:
        """Whatever somebody has frozen goes on, so that nobody's stop waits for it."""
        for kept in self._children.values():
            kept.resume_process()

    def kill_all(self) -> None:
        """The second Ctrl-C: nobody wants to wait any more."""
        self._stopping.update(self._children)
        for kept in self._children.values():
            kept.kill_process()

    def _start_program(self, program: Program) -> None:
        self._children[program.name] = program.start()
        self.on_change(self.pids)

    async def _restart_on_death(self, program: Program) -> None:
        loop = asyncio.get_running_loop()
        pause_s = _FIRST_PAUSE_S
        while True:
            started_at_s = loop.time()
            code = await self._children[program.name].wait_for_exit()
            if program.name in self._stopping:
                return
            self._children[program.name].kill_process()  # what it leaves behind would hold its ports or its files
            if code == EXIT_SETTINGS:
                self._report_failure(SettingsError(f"{program.name} cannot run:\n{child.read_tail(program.log, 3)}"))
                return
            self.on_death(program.name, code)
            if loop.time() - started_at_s > _STEADY_S:
                pause_s = _FIRST_PAUSE_S
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            if program.name in self._stopping:  # meanwhile
                return
            try:
                self._start_program(program)
            except Fatal as fatal:
                self._report_failure(fatal)
                return

    def _report_failure(self, fatal: Fatal) -> None:
        if self._failure is None:
            self._failure = asyncio.get_running_loop().create_future()
        if not self._failure.done():
            self._failure.set_exception(fatal)

"""`make mutate`: which single changes of the code that keeps promises does no test notice?

The tests of a target are collected and run once, unchanged, to learn which of them reach which lines. Each mutant is
then tried in a forked process: its function's code is swapped in place, no file is changed, and only the tests that
reach the changed statement run, the quickest first, up to the first failure. What survives is printed, and explained
one by one in docs/mutation.md. Servers that session fixtures start, such as Postgres, are shared by all mutants.

    tests/mutation/mutate.py [NAME…]       NAME as in targets.py, e.g. `outbox`; all of them without one
    tests/mutation/mutate.py NAME:FILE,…   only these of its files, e.g. `sync_domain:cursor,parts`
    tests/mutation/mutate.py NAME:FILE:12  only the mutants of one file's lines, e.g. `sync_domain:cursor:12,34`
"""

import ast
import functools
import gc
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, TextIO

import pytest
import structlog
from hypothesis import Phase, settings
from mutants import Mutant, find_mutants
from targets import ROOT, TARGETS, Target

# A test that takes this long with a mutant, and not without it, hangs: the mutant is caught.
_TIMEOUT_S = 8.0
_TIMEOUT_FACTOR = 5.0

_NOT_TRIED = 3  # exit code of a fork

_Key = tuple[str, int]  # a function's qualified name and its first line


class LineTracer:
    """Which lines of `paths` a test runs, in any thread."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = {str(path) for path in paths}
        self.lines: set[tuple[str, int]] = set()

    def __enter__(self) -> "LineTracer":
        self.lines = set()
        threading.settrace(self._trace_call)
        sys.settrace(self._trace_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _trace_call(self, frame: FrameType, event: str, _: Any) -> Any:  # Any: sys.settrace's own types
        return self._trace_line if frame.f_code.co_filename in self._paths else None

    def _trace_line(self, frame: FrameType, event: str, _: Any) -> Any:
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._trace_line


@dataclass(slots=True)
class MeasuredTest:
    item: pytest.Item
    lines: set[tuple[str, int]]
    duration_s: float


@dataclass(slots=True)
class Score:
    mutants: int = 0
    survivors: int = 0

    def __str__(self) -> str:
        caught = self.mutants - self.survivors
        return f"{caught} of {self.mutants} caught ({100 * caught / max(self.mutants, 1):.0f} %)"


@dataclass(slots=True)
class MutationRun:
    """A pytest plugin that tries a target's mutants in place of running the tests."""

    name: str
    target: Target
    files: set[str]
    lines: set[int]
    out: TextIO
    score: Score = field(default_factory=Score)
    is_broken: bool = False

    def pytest_sessionstart(self) -> None:
        # Before the test modules are read: no example is kept for the next mutant, and all mutants see the same ones.
        settings.register_profile(
            "mutation",
            settings.get_profile("mailroom"),
            database=None,
            derandomize=True,
            phases=(Phase.explicit, Phase.generate),
        )
        settings.load_profile("mutation")
        # Drawing a traceback takes longer than most tests.
        structlog.configure(processors=[structlog.processors.KeyValueRenderer()])

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        # Read now, as it was imported: who works on a module meanwhile does not disturb.
        sources = {
            path: path.read_text() for path in self.target.list_sources() if not self.files or path.stem in self.files
        }
        tests = self._measure_tests(session, list(sources))
        if session.testsfailed or session.testscollected == 0:
            self.is_broken = True
            return True
        for path, source in sources.items():
            self._try_mutants(session, path, source, tests)
        return True

    def _measure_tests(self, session: pytest.Session, paths: Sequence[Path]) -> list[MeasuredTest]:
        tests: list[MeasuredTest] = []
        for position, item in enumerate(session.items, 1):
            self._show(f"{self.name}: test {position} of {len(session.items)} without a mutation")
            tracer, start_s = LineTracer(paths), time.monotonic()
            with tracer:
                _run_item(item, next_item=_next_item(session, position))
            tests.append(MeasuredTest(item, tracer.lines, time.monotonic() - start_s))
        return sorted(tests, key=lambda test: test.duration_s)

    def _try_mutants(self, session: pytest.Session, path: Path, source: str, tests: Sequence[MeasuredTest]) -> None:
        mutants = [one for one in find_mutants(source) if not self.lines or one.line in self.lines]
        score = Score()
        for mutant in mutants:
            self._show(f"{self.name}: {path.stem} {score.mutants + 1} of {len(mutants)}, {score.survivors} survive")
            score.mutants += 1
            places = {(str(path), line) for line in mutant.lines}
            reaching = [test for test in tests if places & test.lines]
            if not (reaching and _is_caught(session, path, mutant, reaching)):
                score.survivors += 1
                reached = f"{len(reaching)} tests reach it" if reaching else "no test reaches it"
                self._print(f"  {path.stem}, line {mutant.line}: {mutant.change} ({reached})")
        self._print(f"  {path.stem}: {score}")
        self.score.mutants += score.mutants
        self.score.survivors += score.survivors

    def _show(self, progress: str) -> None:
        if self.out.isatty():
            self.out.write(f"\r\x1b[K{progress}")
            self.out.flush()

    def _print(self, line: str) -> None:
        self._show("")
        print(line, file=self.out, flush=True)


def _next_item(session: pytest.Session, position: int) -> pytest.Item | pytest.Session:
    """What comes after an item; after the last one everything is torn down except what belongs to the session."""
    return session.items[position] if position < len(session.items) else session


def _run_item(item: pytest.Item, next_item: pytest.Item | pytest.Session) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)


def _is_caught(session: pytest.Session, path: Path, mutant: Mutant, tests: Sequence[MeasuredTest]) -> bool:
    child = os.fork()
    if child == 0:
        code = _NOT_TRIED
        try:
            os.setsid()
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends this process
            _swap_code(path, mutant.tree)
            code = 1
            code = int(_does_one_fail(session, tests))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # processes that its tests have started
    code = os.waitstatus_to_exitcode(status)
    if code == _NOT_TRIED:
        raise RuntimeError(f"{path}, line {mutant.line}: the changed code could not take the place of the old one")
    return code != 0


def _does_one_fail(session: pytest.Session, tests: Sequence[MeasuredTest]) -> bool:
    for test in tests:
        signal.setitimer(signal.ITIMER_REAL, _TIMEOUT_S + _TIMEOUT_FACTOR * test.duration_s)
        _run_item(test.item, next_item=session)
        if session.testsfailed:
            return True
    return False


def _swap_code(path: Path, tree: ast.Module) -> None:
    """Gives the mutated code to all functions of a module, wherever they are referred to.

    Raises:
        LookupError: the module has no function in memory, or one that its source does not have.
    """
    codes = dict(_list_codes(compile(tree, str(path), "exec", dont_inherit=True)))
    gc.unfreeze()  # the test plugin freezes what is loaded at its start, and what is frozen is not listed
    swapped = 0
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == str(path):
            one.__code__ = codes[one.__code__.co_qualname, one.__code__.co_firstlineno]
            swapped += 1
        elif isinstance(one, functools._lru_cache_wrapper) and _is_of(one.__wrapped__, path):
            one.cache_clear()
    if not swapped:
        raise LookupError(path)


def _is_of(function: object, path: Path) -> bool:
    return isinstance(function, FunctionType) and function.__code__.co_filename == str(path)


def _list_codes(code: CodeType) -> Iterator[tuple[_Key, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_qualname, constant.co_firstlineno), constant
            yield from _list_codes(constant)


def _mutate_target(argument: str, out: TextIO) -> bool:
    """In a process of its own, since pytest reads each test module once per process. True when no test was broken."""
    name, files, lines = (*argument.split(":"), "", "")[:3]
    run = MutationRun(
        name,
        TARGETS[name],
        {file for file in files.split(",") if file},
        {int(line) for line in lines.split(",") if line},
        out,
    )
    options = ["-s", "-q", "-n0", "-p", "no:cacheprovider", "--timeout", "0"]
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        pytest.main([*options, *TARGETS[name].tests], plugins=[run])
        if run.is_broken or not run.score.mutants:
            log.seek(0)
            run._print(f"{name}: its tests fail without a mutation\n{log.read().decode(errors='replace')[-5000:]}")
            return False
    run._print(f"{name}: {run.score}")
    return True


def main() -> None:
    os.chdir(ROOT)
    if unknown := {argument.partition(":")[0] for argument in sys.argv[1:]} - set(TARGETS):
        sys.exit(f"no target {', '.join(sorted(unknown))}; there are {', '.join(sorted(TARGETS))}")
    out = os.fdopen(os.dup(1), "w")
    codes: list[int] = []
    for argument in sys.argv[1:] or TARGETS:
        child = os.fork()
        if child == 0:
            is_whole = False
            try:
                is_whole = _mutate_target(argument, out)
            finally:
                os._exit(0 if is_whole else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    sys.exit(any(codes))


if __name__ == "__main__":
    main()

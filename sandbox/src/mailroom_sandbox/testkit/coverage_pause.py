"""Where coverage does not measure: its tracer would be most of the time of what is run very often, or is not ours."""

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

_Tracer = Any  # what `sys.settrace` takes and `sys.gettrace` gives


@contextmanager
def pause_coverage() -> Iterator[None]:
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


@contextmanager
def measure_imports_alone(packages: Collection[str]) -> Iterator[None]:
    """Within the block modules of `packages` are measured while they are loaded, and nothing else is.

    Python calls a tracer for each call in whatever file, so that it doubles the CPU of imports and of pytest itself.
    """
    tracer = sys.gettrace()
    finder = _TracingFinder(frozenset(packages), tracer)
    # Behind pytest, whose loader rewrites what tests assert, and in front of who finds all others.
    sys.meta_path.insert(sys.meta_path.index(PathFinder), finder)
    try:
        with pause_coverage():
            yield
    finally:
        sys.meta_path.remove(finder)


class _TracingFinder:
    def __init__(self, packages: frozenset[str], tracer: _Tracer) -> None:
        self._packages = packages
        self._tracer = tracer

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            tracer = self._tracer if name.partition(".")[0] in self._packages else None
            spec.loader = _TracedLoader(spec.loader.name, str(spec.loader.path), tracer)
        return spec


class _TracedLoader(SourceFileLoader):
    """What the module imports in its turn has a loader like this one, with a tracer or without."""

    def __init__(self, name: str, path: str, tracer: _Tracer) -> None:
        super().__init__(name, path)
        self._tracer = tracer

    def exec_module(self, module: ModuleType) -> None:
        former = sys.gettrace()
        sys.settrace(self._tracer)
        try:
            super().exec_module(module)
        finally:
            sys.settrace(former)

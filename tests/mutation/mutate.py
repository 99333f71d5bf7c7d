"""`make mutate`: which single changes of the code that keeps promises does no test notice?

Each mutant runs the module's tests in a forked process, with the mutated module in place of the real one; no file is
changed. A mutant is caught when a test fails or the tests do not end in time. What survives is printed, and explained
one by one in docs/mutation.md.

    tests/mutation/mutate.py [NAME…]     NAME as in TARGETS, e.g. `outbox`; all of them without one
    tests/mutation/mutate.py NAME:12,34  the mutants of these lines only
"""

import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
_TIMEOUT_S = 60.0
# Imported once before the forks: they cost most of a short test run.
_PRELOADED = (
    "aiokafka",
    "aiokafka.admin",
    "asyncpg",
    "fastapi",
    "fastavro",
    "httpx",
    "hypothesis",
    "uvicorn",
    "structlog",
)


_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True, slots=True)
class Mutant:
    line: int
    change: str
    tree: ast.Module


def find_mutants(source: str) -> Iterator[Mutant]:
    """All mutations of functions' bodies; log lines, metrics, annotations and module constants are left alone."""
    tree = ast.parse(source)
    for index, site in enumerate(_list_sites(tree)):
        if (change := _describe_change(site)) is not None:
            mutated = copy.deepcopy(tree)
            _apply_change(mutated, _list_sites(mutated)[index])
            text = ast.unparse(site).splitlines()[0][:80]
            yield Mutant(getattr(site, "lineno", 0), f"`{text}`: {change}", ast.fix_missing_locations(mutated))


def _list_sites(tree: ast.Module) -> list[ast.AST]:
    return [node for function in _list_functions(tree) for node in _walk_body(function)]


def _list_functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Outermost functions and methods; a Protocol has nothing to run."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not _is_protocol(node)]
    bodies = [tree.body, *(node.body for node in classes)]
    return [node for body in bodies for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _is_protocol(node: ast.ClassDef) -> bool:
    return any("Protocol" in ast.unparse(base) for base in node.bases)


def _walk_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    for statement in function.body:
        yield from _walk_node(statement)


def _walk_node(node: ast.AST) -> Iterator[ast.AST]:
    if _is_observation(node) or isinstance(node, ast.arguments):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk_node(child)


def _is_observation(node: ast.AST) -> bool:
    """A log line, a metric, a docstring: no test has to notice them."""
    if not isinstance(node, ast.Expr):
        return False
    if isinstance(node.value, ast.Constant):
        return True
    text = ast.unparse(node.value)
    return text.startswith("log.") or text.partition(".")[0].isupper()


def _describe_change(node: ast.AST) -> str | None:
    """What `_apply_change` does to this node; None when it is left alone."""
    match node:
        case ast.Compare(ops=[comparison]) if type(comparison) in _COMPARISONS:
            return f"{type(comparison).__name__} -> {_COMPARISONS[type(comparison)].__name__}"
        case ast.BoolOp():
            return "and <-> or"
        case ast.UnaryOp(op=ast.Not()):
            return "not removed"
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
            return f"{type(operator).__name__} -> {_OPERATORS[type(operator)].__name__}"
        case ast.Constant(value=bool() as flag):
            return f"{not flag}"
        case ast.Constant(value=int() | float() as number):
            return f"{number + 1}"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return (
                None if isinstance(test, ast.Compare | ast.Constant | ast.UnaryOp | ast.BoolOp) else "condition negated"
            )
        case ast.Return(value=ast.expr() as value):
            return None if isinstance(value, ast.Constant) else "return None"
        case ast.Raise() | ast.Break() | ast.Continue() | ast.AugAssign() | ast.Delete():
            return "removed"
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return "removed"
        case _:
            return None


def _apply_change(tree: ast.Module, node: ast.AST) -> None:
    match node:
        case ast.Compare():
            node.ops = [_COMPARISONS[type(node.ops[0])]()]
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.BinOp():
            node.op = _OPERATORS[type(node.op)]()
        case ast.Constant(value=bool() as flag):
            node.value = not flag
        case ast.Constant(value=int() | float() as number):
            node.value = number + 1
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Return():
            node.value = ast.Constant(None)
        case ast.UnaryOp():
            _replace_node(tree, node, node.operand)
        case _:
            _replace_node(tree, node, ast.Pass())


def _replace_node(tree: ast.Module, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return
            if isinstance(value, list):
                for position, child in enumerate(value):
                    if child is old:
                        value[position] = new
                        return


@dataclass(frozen=True, slots=True)
class Target:
    """`module` is what is mutated, `tests` what has to notice it, from the root of the repository."""

    module: str
    tests: tuple[str, ...]


COMMON = "libs/common/tests/unit"
TARGETS = {
    "outbox": Target("mailroom_common.outbox", (f"{COMMON}/test_outbox.py",)),
    "partition_consumer": Target(
        "mailroom_common.kafka.partition_consumer",
        (
            f"{COMMON}/kafka/test_partition_consumer.py",
            f"{COMMON}/kafka/test_windowed.py",
            "services/sync-engine/tests/unit/adapters/test_folding_consumer.py",
        ),
    ),
    "windowed": Target("mailroom_common.kafka.windowed", (f"{COMMON}/kafka/test_windowed.py",)),
    "folding_consumer": Target(
        "sync_engine.adapters.folding_consumer",
        ("services/sync-engine/tests/unit/adapters/test_folding_consumer.py",),
    ),
    "watermark": Target("mailroom_common.kafka.watermark", (f"{COMMON}/kafka/test_watermark.py",)),
    "watchdog": Target("mailroom_common.kafka.watchdog", (f"{COMMON}/kafka/test_watchdog.py",)),
    "directory": Target("mailroom_common.kafka.directory", (f"{COMMON}/kafka/test_directory.py",)),
    "retries": Target("mailroom_common.retries", (f"{COMMON}/test_retries.py",)),
    "sealing": Target("mailroom_common.tokens.sealing", (f"{COMMON}/tokens/test_sealing.py",)),
}


class _MutantFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the mutated module to whoever imports it."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        self._name = name
        self._path = path
        self._tree = tree

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # importlib's
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:  # importlib's
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._tree, self._path, "exec"), module.__dict__)  # noqa: S102  # the mutated module


def _find_source(module: str) -> Path:
    relative = Path(*module.split(".")).with_suffix(".py")
    (path,) = (found for folder in ("libs", "services") for found in ROOT.glob(f"{folder}/*/src/{relative}"))
    return path


def _run_tests(target: Target, path: Path, tree: ast.Module) -> int:
    """In the fork: the exit code of pytest."""
    sys.meta_path.insert(0, _MutantFinder(target.module, str(path), tree))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    return int(pytest.main(["-x", "-q", "-n0", "-p", "no:cacheprovider", "--timeout", "20", *target.tests]))


def _is_caught(target: Target, path: Path, tree: ast.Module) -> bool:
    child = os.fork()
    if child == 0:
        os.setsid()
        code = 1
        try:
            code = _run_tests(target, path, tree)
        finally:
            os._exit(code)
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) != 0
        time.sleep(0.02)  # waitpid has no time-out
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _mutate_target(name: str, target: Target, lines: set[int]) -> tuple[int, list[Mutant]]:
    path = _find_source(target.module)
    source = path.read_text()
    if _is_caught(target, path, ast.parse(source)):
        sys.exit(f"{name}: its tests fail without a mutation")
    mutants = [mutant for mutant in find_mutants(source) if not lines or mutant.line in lines]
    survivors: list[Mutant] = []
    for number, mutant in enumerate(mutants, 1):
        sys.stderr.write(f"\r{name}: {number}/{len(mutants)}, {len(survivors)} survive ")
        if not _is_caught(target, path, mutant.tree):
            survivors.append(mutant)
            print(f"  {name}, line {mutant.line}: {mutant.change}", flush=True)
    sys.stderr.write("\n")
    return len(mutants), survivors


def main() -> None:
    os.chdir(ROOT)
    for name in _PRELOADED:
        importlib.import_module(name)
    for argument in sys.argv[1:] or TARGETS:
        name, _, lines = argument.partition(":")
        count, survivors = _mutate_target(name, TARGETS[name], {int(line) for line in lines.split(",") if line})
        print(f"{name}: {count - len(survivors)} of {count} caught ({100 * (count - len(survivors)) / count:.0f} %)")


if __name__ == "__main__":
    main()

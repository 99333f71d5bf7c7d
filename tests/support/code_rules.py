"""Rules that hold for the code as a whole, each as a function that names the places where it is broken.

The rules are read from the syntax trees and import nothing, so that they hold for a module that cannot be loaded too.
"""

import ast
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

SERVICES = {
    "webhook_gateway": "services/webhook-gateway",
    "sync_engine": "services/sync-engine",
    "ingestion": "services/ingestion",
    "subscription_manager": "services/subscription-manager",
}
PROVIDER_PACKAGES = ("mailroom_outlook", "mailroom_gmail")
PROVIDER_WORDS = {"outlook", "graph", "microsoft", "gmail", "google"}
# The parts of an identifier or a sentence: `GraphMail`, `OUTLOOK_url` and "Google's" all have a provider's name.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True)
class Module:
    """One file: its dotted name, what it imports and which classes it has."""

    name: str
    file: Path
    is_package: bool

    @property
    def package(self) -> str:
        return self.name.split(".")[0]

    @property
    def is_composition_root(self) -> bool:
        """`app.py`, a module of `app/`, or `__main__.py`: where a process is put together."""
        return self.name.split(".")[1:2] in (["app"], ["__main__"])

    @property
    def imported_names(self) -> frozenset[str]:
        """Every dotted name that an import statement anywhere in the file asks for, `a.b.c` for `from a.b import c`."""
        return self._names[0]

    @property
    def class_names(self) -> tuple[str, ...]:
        """Of the classes that the file itself has, not of those within others."""
        return self._names[1]

    @cached_property
    def _names(self) -> tuple[frozenset[str], tuple[str, ...]]:
        """Names alone are kept: the trees of all files are many objects, which each search for garbage would pass."""
        tree = ast.parse(self.file.read_text())
        classes = tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef))
        return frozenset(self._find_imports(tree)), classes

    def _find_imports(self, tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = self._absolute(node)
                yield origin
                yield from (f"{origin}.{alias.name}" for alias in node.names)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        kept = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*kept, *([node.module] if node.module else [])])


class CodeBase:
    """All modules below `src` folders of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        folders = sorted(
            [*root.glob("libs/*/src"), *root.glob("services/*/src"), root / "cli/src", root / "sandbox/src"]
        )
        self.modules = {module.name: module for folder in folders for module in _modules_below(folder)}
        # The module that a name is in: `a.b.C` is a name of `a.b`.
        self._imports = {name: self._resolve(module) for name, module in self.modules.items()}

    def _resolve(self, module: Module) -> frozenset[str]:
        asked = module.imported_names
        found = asked & self.modules.keys()
        # `from a import b` asks for `a` and `a.b`: with `b` a module, nothing is taken from `a` itself.
        is_only_a_way = {name for name in found if any(n != name and n.rpartition(".")[0] == name for n in found)}
        taken = {n.rpartition(".")[0] for n in asked - found}
        return frozenset(found - (is_only_a_way - taken)) - {module.name}

    def imports_of(self, name: str) -> frozenset[str]:
        """Modules of ours that the module imports itself."""
        return self._imports[name]

    def of_package(self, package: str) -> list[Module]:
        return [module for module in self.modules.values() if module.package == package]

    def path(self, module: Module) -> str:
        return str(module.file.relative_to(self.root))


@cache
def read_code_base(root: Path) -> CodeBase:
    """Parsed once for all tests of a process: it takes seconds."""
    return CodeBase(root)


def _modules_below(folder: Path) -> Iterator[Module]:
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        yield Module(".".join(parts[:-1] if is_package else parts), file, is_package)


def find_adapters_known_outside_app(code: CodeBase) -> list[str]:
    """Only a composition root says which adapter stands behind a port."""
    return [
        f"{code.path(module)} imports {name}"
        for service in SERVICES
        for module in code.of_package(service)
        if not module.is_composition_root and not _is_within(module.name, f"{service}.adapters")
        for name in sorted(code.imports_of(module.name))
        if _is_within(name, f"{service}.adapters")
    ]


def find_provider_packages_known_outside_app(code: CodeBase) -> list[str]:
    return [
        f"{code.path(module)} imports {name}"
        for service in SERVICES
        for module in code.of_package(service)
        if not module.is_composition_root
        for name in sorted(code.imports_of(module.name))
        if any(_is_within(name, package) for package in PROVIDER_PACKAGES)
    ]


def find_provider_words(code: CodeBase) -> list[str]:
    """Services speak of providers by their traits. Comments may say what a provider does; code and strings may not. A
    media type that has a provider's name is no provider.

    The gateway is the exception: its routes are the providers' webhooks.
    """
    places = []
    for service in sorted(SERVICES.keys() - {"webhook_gateway"}):
        for module in code.of_package(service):
            if module.is_composition_root:
                continue
            with tokenize.open(module.file) as lines:
                for token in tokenize.generate_tokens(lines.readline):
                    words = {
                        word.lower() for word in _WORD.findall(token.string.replace("vnd.ms-outlook", ""))
                    } & PROVIDER_WORDS
                    if token.type != tokenize.COMMENT and words:
                        places.append(f"{code.path(module)}:{token.start[0]} says {', '.join(sorted(words))}")
    return places


def find_import_circles(code: CodeBase) -> list[str]:
    """Files of one package that need each other: none of them can be read alone."""
    graph = {
        name: {other for other in code.imports_of(name) if code.modules[other].package == module.package}
        for name, module in code.modules.items()
    }
    return [f"import each other: {', '.join(sorted(circle))}" for circle in find_circles(graph)]


def find_package_circles(code: CodeBase) -> list[str]:
    """Packages of the shared library that need each other, by whichever files."""
    graph: dict[str, set[str]] = defaultdict(set)
    for module in code.of_package("mailroom_common"):
        here = _second_level(module.name)
        graph[here] |= {
            _second_level(name) for name in code.imports_of(module.name) if _is_within(name, "mailroom_common")
        } - {here}
    return [f"import each other: {', '.join(sorted(circle))}" for circle in find_circles(graph)]


def find_circles(graph: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """The sets of nodes that reach each other (Tarjan's strongly connected components of more than one node)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles: list[set[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            members = set(stack[stack.index(node) :])
            del stack[stack.index(node) :]
            if len(members) > 1:
                circles.append(members)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return circles


def find_classes_of_one_name(code: CodeBase, allowed: Iterable[str]) -> list[str]:
    """Public classes that share their name with another one."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in code.modules.values():
        for name in module.class_names:
            if not name.startswith("_"):
                places[name].append(code.path(module))
    return [
        f"class {name}: {', '.join(files)}"
        for name, files in sorted(places.items())
        if len(files) > 1 and name not in set(allowed)
    ]


def find_common_modules_of_one_user(code: CodeBase, allowed: Iterable[str]) -> list[str]:
    """Modules of the shared library that are reached by one service (or the command line, or the sandbox) alone."""
    users: dict[str, set[str]] = defaultdict(set)
    for user in (*SERVICES, "mailroom_cli", "mailroom_sandbox"):
        for name in _reachable(code, [module.name for module in code.of_package(user)]):
            users[name].add(user)
    return [
        f"{name} is reached by {next(iter(users[name]))} alone"
        for name, module in sorted(code.modules.items())
        if module.package == "mailroom_common" and not module.is_package and len(users[name]) == 1
        if not any(_is_within(name, area) for area in allowed)
    ]


def find_tests_without_module(code: CodeBase, flows: Iterable[str]) -> list[str]:
    """`tests/unit/handlers/test_x.py` or `test_x_under_load.py` tests `handlers/x.py`.

    Elsewhere under `tests` the folder is free. Contract suites are named for the port that they hold for.
    """
    places = []
    for package_root in sorted({module.file.parents[_depth(module)].parent for module in code.modules.values()}):
        modules = [module for module in code.modules.values() if module.file.is_relative_to(package_root)]
        paths = {tuple(module.name.split(".")[1:]) for module in modules}
        for test in sorted((package_root / "tests").rglob("test_*.py")):
            path = test.relative_to(package_root / "tests")
            folder = path.parts[1:-1] if path.parts[0] == "unit" else None
            if path.parts[0] == "contract" or str(test.relative_to(code.root)) in set(flows):
                continue
            stem = path.stem.removeprefix("test_")
            if not any(
                f"{stem}_".startswith(f"{module[-1]}_") and folder in (None, module[:-1]) for module in paths if module
            ):
                places.append(f"{test.relative_to(code.root)} is named for no module")
    return places


def _depth(module: Module) -> int:
    """How many folders lie between the file and its `src`."""
    return len(module.name.split(".")) - (0 if module.is_package else 1)


def _reachable(code: CodeBase, start: list[str]) -> set[str]:
    seen: set[str] = set(start)
    ahead = list(start)
    while ahead:
        for name in code.imports_of(ahead.pop()) - seen:
            seen.add(name)
            ahead.append(name)
    return seen


def _is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def _second_level(name: str) -> str:
    return ".".join(name.split(".")[:2])

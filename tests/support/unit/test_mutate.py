"""`make mutate` changes what it says: a harness that changes nothing would find that every mutant survives."""

import ast
import gc
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SOURCE = """
def answer():
    return 1
"""


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "mutation"))
    return import_module("mutate")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "mutated_module.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module("mutated_module")
    del sys.modules["mutated_module"]


def test_functions_change_also_where_the_test_plugin_has_frozen_what_is_loaded(
    mutate: Any, module: Any, tmp_path: Path
) -> None:
    gc.freeze()
    mutate._swap_code(tmp_path / "mutated_module.py", ast.parse(SOURCE.replace("1", "2")))
    assert module.answer() == 2


def test_a_module_of_which_nothing_is_loaded_is_an_error(mutate: Any, tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        mutate._swap_code(tmp_path / "elsewhere.py", ast.parse(SOURCE))

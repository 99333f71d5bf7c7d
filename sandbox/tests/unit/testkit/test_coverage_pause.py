import sys
from importlib import import_module
from pathlib import Path

import pytest

from mailroom_sandbox.testkit.coverage_pause import _TracingFinder, measure_imports_alone, pause_coverage


def trace_nothing(*_: object) -> None:
    return None


def raise_if_not_traced() -> None:
    if sys.gettrace() is None:
        raise ValueError("not traced")


def test_the_tracer_rests_within_the_block_and_is_back_after_it_whatever_it_raised() -> None:
    before = sys.gettrace()
    try:
        sys.settrace(trace_nothing)
        with pytest.raises(ValueError, match="not traced"), pause_coverage():
            raise_if_not_traced()
        assert sys.gettrace() is trace_nothing
    finally:
        sys.settrace(before)


def test_only_what_is_loaded_of_the_packages_named_is_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("measured_one", "measured_two", "foreign"):
        (tmp_path / f"{name}.py").write_text("import sys\nseen = [sys.gettrace()]\n")
    (tmp_path / "measured_one.py").write_text("import sys, foreign\nseen = [sys.gettrace()]\nimport measured_two\n")
    before = sys.gettrace()
    try:
        sys.settrace(trace_nothing)
        with measure_imports_alone({"measured_one", "measured_two"}):
            first, second, foreign = map(import_module, ("measured_one", "measured_two", "foreign"))
            within = sys.gettrace()
        after = sys.gettrace()
    finally:
        sys.settrace(before)
    assert (first.seen, second.seen, foreign.seen) == ([trace_nothing], [trace_nothing], [None])
    assert (within, after) == (None, trace_nothing)
    assert not [finder for finder in sys.meta_path if isinstance(finder, _TracingFinder)]

import sys

import pytest

from mailroom_sandbox.testkit.coverage_pause import pause_coverage


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

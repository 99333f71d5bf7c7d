"""A block that coverage does not measure: it would be most of the time of what is run there very often."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_coverage() -> Iterator[None]:
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)

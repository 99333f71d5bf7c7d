from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def default_logging() -> Iterator[None]:
    """A command sends the logs to the stream of its test run, which is closed afterwards: other tests log too."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)

"""One waiting document with its blob, and what processes it on fakes."""

from functools import partial
from pathlib import Path

import pytest
from ingestion_fakes import PDF, FakeBlobs, FakeLeases, build_lease
from processing_fakes import Process, build_processor


@pytest.fixture
def blobs(tmp_path: Path) -> FakeBlobs:
    return FakeBlobs(tmp_path, {"documents/1.pdf": PDF})


@pytest.fixture
def leases() -> FakeLeases:
    return FakeLeases([build_lease()])


@pytest.fixture
def process(leases: FakeLeases, blobs: FakeBlobs) -> Process:
    return partial(build_processor, leases, blobs)

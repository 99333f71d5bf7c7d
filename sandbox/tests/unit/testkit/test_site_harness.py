import os

import pytest

from mailroom_sandbox.testkit.site_harness import clean_environment


def test_site_of_a_test_gets_nothing_that_belongs_to_the_run_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAILROOM_HOME", "COVERAGE_FILE", "PYTEST_XDIST_WORKER", "MAKEFLAGS", "k", "s"):
        monkeypatch.setenv(name, "x")
    clean = clean_environment()
    assert clean["PATH"] == os.environ["PATH"]
    assert not clean.keys() & {"MAILROOM_HOME", "COVERAGE_FILE", "PYTEST_XDIST_WORKER", "MAKEFLAGS", "k", "s"}

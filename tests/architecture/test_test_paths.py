"""Every test is run, and is found by the name of the module that it tests."""

import ast
import re
import tomllib
from pathlib import Path

from code_rules import find_tests_without_module, read_code_base

ROOT = Path(__file__).parents[2]
# What follows a record through several modules, or a whole process, is named for what it shows.
WHOLE_FLOW_TESTS = (
    "sandbox/tests/unit/provider_doubles/test_sample_mails.py",
    "services/ingestion/tests/unit/adapters/test_mutated_pdfs.py",
    "services/ingestion/tests/unit/extract/test_pattern_time.py",
    "services/subscription-manager/tests/integration/test_connections.py",
    "services/subscription-manager/tests/integration/test_manager_process.py",
    "services/sync-engine/tests/integration/test_backstop_contract.py",
    "services/sync-engine/tests/integration/test_calls_per_mail.py",
    "services/sync-engine/tests/integration/test_fault_samples.py",
    "services/sync-engine/tests/integration/test_beside_outside_job.py",
    "services/sync-engine/tests/integration/test_life_of_a_mailbox.py",
    "services/sync-engine/tests/integration/test_page_crashes.py",
    "services/sync-engine/tests/integration/test_runs_over_http.py",
    "services/sync-engine/tests/integration/test_sample_mails.py",
    "services/webhook-gateway/tests/integration/test_gateway_process.py",
)


def test_every_test_of_the_repository_is_run() -> None:
    """The folders are named one by one, for their order: one that is forgotten would be missed by nobody."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = [ROOT / path for path in settings["tool"]["pytest"]["ini_options"]["testpaths"]]
    ours = [path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")]
    tests = [file for folder in ours for file in folder.rglob("test_*.py")]
    assert len(tests) > 100
    assert [str(file) for file in tests if not any(file.is_relative_to(path) for path in named)] == []


def test_a_test_is_named_for_the_module_that_it_tests() -> None:
    assert find_tests_without_module(read_code_base(ROOT), WHOLE_FLOW_TESTS) == []


def test_each_test_of_a_whole_flow_exists() -> None:
    assert [path for path in WHOLE_FLOW_TESTS if not (ROOT / path).is_file()] == []


def test_what_mypy_leaves_out_only_hands_on_fixtures() -> None:
    """Nothing in it could be wrong: names are imported from modules that are checked, and listed."""
    (pattern,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["exclude"]
    left_out = [file for file in ROOT.glob("services/**/*.py") if re.search(pattern, str(file.relative_to(ROOT)))]
    assert left_out
    for file in left_out:
        kinds = {type(statement) for statement in ast.parse(file.read_text()).body}
        assert kinds <= {ast.ImportFrom, ast.Assign}, file

"""Limits of a process, set in one of their own: a test that limits itself would limit those after it."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, resource, sys
from mailroom_common.parser.limits import ParserLimits, set_hard_limits, set_soft_limits
limits = ParserLimits(memory_bytes=1 << 30, cpu_s=10, open_files=40)
accepted = set_hard_limits(limits)
set_soft_limits(ParserLimits(**json.loads(sys.argv[1])))
print(json.dumps([accepted, *(resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in
                              ("AS", "CPU", "NOFILE", "FSIZE", "CORE"))]))
"""


def limits_with(soft: dict[str, int]) -> list[list[int]]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, json.dumps(soft)], capture_output=True, check=True)
    accepted, *limits = json.loads(done.stdout)
    assert accepted
    return list(limits)


def test_limits_of_a_file_move_below_the_hard_ones() -> None:
    memory, cpu, files, file_size, core = limits_with({"memory_bytes": 1 << 29, "cpu_s": 2, "open_files": 20})
    assert memory == [1 << 29, 1 << 30]
    assert cpu[0] < 10 < cpu[1]  # of one file, and of all that the process reads
    assert files == [20, 40]
    assert file_size == core == [0, 0]


@pytest.mark.parametrize("limit", ["memory_bytes", "open_files"])
def test_a_file_cannot_have_more_than_the_process(limit: str) -> None:
    memory, _, files, _, _ = limits_with({limit: 1 << 40, **({} if limit == "open_files" else {"open_files": 64})})
    assert memory == [1 << 30, 1 << 30]
    assert files == [40, 40]

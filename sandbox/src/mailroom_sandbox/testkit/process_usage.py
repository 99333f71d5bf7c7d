"""CPU time and memory of each process of a running site, for benchmarks."""

import os
from collections.abc import Mapping
from pathlib import Path

import psutil

from mailroom_sandbox.site.stack.home import Home, read_json

SUPERVISOR = "supervisor"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def list_processes(home: Home) -> dict[str, psutil.Process]:
    """Every process of the site by the name that endpoints.json has for it, and the supervisor."""
    pids: Mapping[str, int] = read_json(home.endpoints, None)["pids"]
    processes = {name: psutil.Process(pid) for name, pid in sorted(pids.items())}
    return {SUPERVISOR: psutil.Process(read_json(home.lock, None)["pid"]), **processes}


def read_cpu_s(processes: Mapping[str, psutil.Process]) -> dict[str, float]:
    """User and system time of each, by /proc/PID/stat.

    It includes the children that it has now and those that ended, as Postgres' and the parser's do. The supervisor's
    children are the site itself: of it only its own time counts.
    """
    return {
        name: _read_stat_s(process.pid, with_ended_children=False)
        if name == SUPERVISOR
        else sum(
            _read_stat_s(one.pid, with_ended_children=True) for one in (process, *process.children(recursive=True))
        )
        for name, process in processes.items()
    }


def read_private_mib(process: psutil.Process) -> float:
    """Memory that only this process holds (`Private_*` of smaps_rollup)."""
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_")) / 1024


def _read_stat_s(pid: int, *, with_ended_children: bool) -> float:
    # The name in parentheses may hold spaces, so fields are counted from its end (proc_pid_stat(5)).
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15] if with_ended_children else fields[11:13])) / _TICKS_PER_S

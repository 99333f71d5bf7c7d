"""Runs the cluster in network, mount and process namespaces of its own, so that its end leaves nothing behind.

All its processes die with the first one, their mounts and network devices with the last of them: a test that was killed
needs no cleaning up, and two checkouts can run theirs side by side.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from mailroom_cluster.places import Places

_PID_FILE = "namespaces.pid"
# A killed process is gone from its cgroup only when its memory is, which takes a busy machine seconds.
_LAST_PROCESS_S = 30
# Beside `kubepods`: what is not a pod shares one weight, as system.slice does on a node. As single processes of the top
# cgroup a dozen programs, each with a whole processor's weight, starved all pods.
_CPU_CGROUPS = Path("/sys/fs/cgroup/cpu")
_OWN_CGROUP = "mailroom-cluster"
_PREFERRED_CGROUP = "mailroom-cluster-preferred"
_PREFERRED_SHARE = 0.5
# Daemons keep lists of what is their own here; they must neither meet the host's nor outlive the run.
_PRIVATE_FOLDERS = (
    "/run/containerd",
    "/run/netns",
    "/var/lib/cni",
    "/var/lib/kubelet",
    "/var/log/pods",
    "/var/log/containers",
)


def run_in_new_namespaces(places: Places, arguments: list[str]) -> int:
    """Runs this program again, as the first process of new namespaces; returns its exit code."""
    places.state.mkdir(parents=True, exist_ok=True)
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"]
    process = subprocess.Popen([*command, sys.executable, "-m", "mailroom_cluster", *arguments])
    file = places.state / _PID_FILE
    file.write_text(str(process.pid))
    signal.signal(signal.SIGTERM, lambda *_: process.kill())  # or the cluster would outlive the one who started it
    try:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue  # the program inside got it too, and ends by itself
    finally:
        process.kill()
        file.unlink(missing_ok=True)
        _remove_empty_cgroups()


def prepare_namespaces() -> None:
    """The first thing that the program inside does."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for folder in _PRIVATE_FOLDERS:
        Path(folder).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    _join_cpu_cgroup(_OWN_CGROUP)


def prefer_process(process_id: int) -> None:
    """It waits for nobody's CPU time, as a program of another machine would not; it may use half a processor."""
    _join_cpu_cgroup(_PREFERRED_CGROUP, process_id)
    folder = _CPU_CGROUPS / _PREFERRED_CGROUP
    if (folder / "cpu.rt_runtime_us").exists():  # a group has none until it is given some
        period_us = int((folder / "cpu.rt_period_us").read_text())
        (folder / "cpu.rt_runtime_us").write_text(str(int(period_us * _PREFERRED_SHARE)))
    os.sched_setscheduler(process_id, os.SCHED_FIFO, os.sched_param(1))


def _join_cpu_cgroup(name: str, process_id: int = 0) -> None:
    """That process, or this one, and all that it starts from now on. With the newer cgroups nothing is done."""
    if not (_CPU_CGROUPS / "cpu.shares").exists():
        return
    folder = _CPU_CGROUPS / name
    folder.mkdir(exist_ok=True)
    (folder / "cgroup.procs").write_text(str(process_id))


def build_entering_command(places: Places) -> list[str]:
    """What goes before a command to run it inside a cluster that is up.

    Raises:
        FileNotFoundError: none is up.
    """
    outer = int((places.state / _PID_FILE).read_text())
    (inner,) = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
    return ["nsenter", "--target", inner, "--net", "--mount", "--pid"]


def _remove_empty_cgroups() -> None:
    """The kubelet's and ours, once the last process has left them. Cgroups belong to no namespace."""
    deadline = time.monotonic() + _LAST_PROCESS_S
    ours = [_CPU_CGROUPS / name for name in (_OWN_CGROUP, _PREFERRED_CGROUP)]
    while not all(_remove_folders(folder) for folder in [*Path("/sys/fs/cgroup").glob("*/kubepods"), *ours]):
        if time.monotonic() > deadline:
            return
        time.sleep(0.5)


def _remove_folders(top: Path) -> bool:
    """Whether nothing is left."""
    for folder, _, _ in os.walk(top, topdown=False):
        try:
            Path(folder).rmdir()
        except OSError:  # still in use
            return False
    return True

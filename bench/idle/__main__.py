"""What an idle site costs: CPU seconds and memory of each process while no mail comes.

    python bench/idle [--seconds 60] [--home FOLDER]

Without `--home` a site of its own is started, one mailbox of each provider is connected, and counting begins once all
is quiet; with it the site that runs on that state is measured as it is. CPU is user and system time by
`/proc/PID/stat`, children included; memory is what only this process holds (`Private_*` of smaps_rollup).
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

import psutil

from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import Home, read_json
from mailroom_sandbox.testkit.site_harness import SiteHarness, site_harness

PROVIDERS = ("outlook", "gmail")
# First syncs, subscriptions and the first commits of every consumer are over by then.
QUIET_AFTER_S = 30.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def list_processes(home: Home) -> dict[str, psutil.Process]:
    """Every process of the site by the name that endpoints.json has for it, and the supervisor."""
    pids: Mapping[str, int] = read_json(home.endpoints, None)["pids"]
    processes = {name: psutil.Process(pid) for name, pid in sorted(pids.items())}
    return {"supervisor": psutil.Process(read_json(home.lock, None)["pid"]), **processes}


def read_cpu_s(process: psutil.Process) -> float:
    """Its own time and that of the children that it has now, as Postgres' and the parser's are."""
    return sum(_read_own_cpu_s(one.pid) for one in (process, *process.children(recursive=True)))


def _read_own_cpu_s(pid: int) -> float:
    # The name in parentheses may hold spaces, so fields are counted from its end (proc_pid_stat(5)).
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def read_private_mib(process: psutil.Process) -> float:
    rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_")) / 1024


async def measure(home: Home, seconds: float) -> None:
    processes = list_processes(home)
    # The supervisor's children are the site itself: only its own time is its own.
    before = {name: _read_cpu(name, process) for name, process in processes.items()}
    started = monotonic()
    await asyncio.sleep(seconds)
    took_s = monotonic() - started
    print(f"{'process':24}{'CPU s':>8}{'% of a core':>14}{'MiB':>8}")
    total_s = total_mib = 0.0
    for name, process in processes.items():
        used_s, mib = _read_cpu(name, process) - before[name], read_private_mib(process)
        total_s, total_mib = total_s + used_s, total_mib + mib
        print(f"{name:24}{used_s:8.2f}{100 * used_s / took_s:14.1f}{mib:8.0f}")
    print(f"{'together':24}{total_s:8.2f}{100 * total_s / took_s:14.1f}{total_mib:8.0f}")


def _read_cpu(name: str, process: psutil.Process) -> float:
    return _read_own_cpu_s(process.pid) if name == "supervisor" else read_cpu_s(process)


async def connect_mailboxes(harness: SiteHarness) -> None:
    endpoints = harness.endpoints
    assert endpoints.api_key is not None  # the sandbox makes its own
    trusted = ca.load_or_create_certificates(harness.home.tls).client_context()
    control_url = f"http://127.0.0.1:{read_json(harness.home.ports, {})['sandbox_control']}"
    async with (
        MailroomAPI(endpoints.public, endpoints.api_key, trusted) as api,
        ControlClient(control_url) as control,
    ):
        for provider in PROVIDERS:
            address = f"idle@{provider}.test"
            await control.find_or_create_mailbox(provider, address)
            await ensure_mailbox_connected(api, provider, address, trusted)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    if options.home:
        await measure(Home(options.home), options.seconds)
        return
    with tempfile.TemporaryDirectory(prefix="mailroom-idle-") as folder:
        Path(folder).chmod(0o755)  # noqa: ASYNC240  # Postgres may have to run as nobody, who must be able to come here
        async with site_harness(Path(folder) / "home", "up", environment={}) as harness:
            await connect_mailboxes(harness)
            await asyncio.sleep(QUIET_AFTER_S)
            await measure(harness.home, options.seconds)


if __name__ == "__main__":
    asyncio.run(main())

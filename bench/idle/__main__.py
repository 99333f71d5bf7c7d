"""What an idle site costs: CPU seconds and memory of each process while no mail comes.

    python bench/idle [--seconds 60] [--home FOLDER]

Without `--home` a site of its own is started, one mailbox of each provider is connected, and counting begins once all
is quiet; with it the site that runs on that state is measured as it is. CPU is user and system time by
`/proc/PID/stat`, children included; memory is what only this process holds (`Private_*` of smaps_rollup).
"""

import argparse
import asyncio
import tempfile
from pathlib import Path
from time import monotonic

from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import Home, read_json
from mailroom_sandbox.testkit.process_usage import list_processes, read_cpu_s, read_private_mib
from mailroom_sandbox.testkit.site_harness import SiteHarness, site_harness

PROVIDERS = ("outlook", "gmail")
# First syncs, subscriptions and the first commits of every consumer are over by then.
QUIET_AFTER_S = 30.0


async def measure(home: Home, seconds: float) -> None:
    processes = list_processes(home)
    before = read_cpu_s(processes)
    started = monotonic()
    await asyncio.sleep(seconds)
    took_s, after = monotonic() - started, read_cpu_s(processes)
    print(f"{'process':24}{'CPU s':>8}{'% of a core':>14}{'MiB':>8}")
    total_s = total_mib = 0.0
    for name, process in processes.items():
        used_s, mib = after[name] - before[name], read_private_mib(process)
        total_s, total_mib = total_s + used_s, total_mib + mib
        print(f"{name:24}{used_s:8.2f}{100 * used_s / took_s:14.1f}{mib:8.0f}")
    print(f"{'together':24}{total_s:8.2f}{100 * total_s / took_s:14.1f}{total_mib:8.0f}")


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

"""`python -m mailroom_sandbox.provider_doubles`: the providers alone, on the settings of the environment."""

import asyncio
import signal
import sys

from pydantic import ValidationError

from mailroom_sandbox.provider_doubles.app import run_provider_doubles
from mailroom_sandbox.provider_doubles.endpoints import ProviderEndpoints
from mailroom_sandbox.provider_doubles.settings import ProvidersSettings


async def serve_doubles(settings: ProvidersSettings) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    at = ProviderEndpoints.from_settings(settings)
    ready = f"providers ready: microsoft {at.authority} google {at.gmail_url} control {at.control_url}"
    await run_provider_doubles(settings, stopping, ready=lambda _: print(ready, flush=True))


def main() -> int:
    try:
        settings = ProvidersSettings()  # type: ignore[call-arg] # the environment gives the rest
    except ValidationError as error:
        first = error.errors()[0]
        name = "MAILROOM_SANDBOX_" + str(first["loc"][0]).upper()
        print(f"{name}: {first['msg']}", file=sys.stderr)
        return 78
    try:
        asyncio.run(serve_doubles(settings))
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Drives a server with wrk (https://github.com/wg/wrk) and reads what it prints."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# wrk calls `request` for each; the requests are made once, so that this costs it nothing.
_SCRIPT = """
local requests = {}
local next_one = 0
function init(args)
  for line in io.lines("%(bodies)s") do
    requests[#requests + 1] = wrk.format("POST", "/webhooks/outlook", {["Content-Type"] = "application/json"}, line)
  end
end
function request()
  next_one = next_one + 1
  if next_one > #requests then next_one = 1 end
  return requests[next_one]
end
"""


@dataclass(frozen=True, slots=True)
class Measured:
    requests_per_s: float
    p50_ms: float
    p99_ms: float
    failures: int
    requests: int


def is_installed() -> bool:
    return shutil.which("wrk") is not None


class Wrk:
    def __init__(self, folder: Path, bodies: Sequence[object]) -> None:
        file = folder / "bodies.jsonl"
        file.write_text("".join(json.dumps(body) + "\n" for body in bodies))
        self._script = folder / "push.lua"
        self._script.write_text(_SCRIPT % {"bodies": file})

    def measure(self, port: int, *, connections: int, seconds: int) -> Measured:
        load = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(self._script)]
        output = subprocess.run(
            [*load, f"http://127.0.0.1:{port}/webhooks/outlook"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
        return Measured(
            float(_find_value(r"Requests/sec:\s+([\d.]+)", output)),
            _parse_ms(_find_value(r"(?m)^ +50% +(\S+)", output)),
            _parse_ms(_find_value(r"(?m)^ +99% +(\S+)", output)),
            (int(refused[1]) if refused else 0) + (sum(map(int, broken.groups())) if broken else 0),
            int(_find_value(r"(\d+) requests in", output)),
        )


def _find_value(pattern: str, output: str) -> str:
    match = re.search(pattern, output)
    if match is None:
        raise RuntimeError(f"wrk did not print what was expected:\n{output}")
    return match[1]


def _parse_ms(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]  # wrk's own format
    return float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]

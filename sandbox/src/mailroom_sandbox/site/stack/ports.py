"""Ports are chosen once and kept with the state, so that addresses which providers were told stay true."""

import random
import socket
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from mailroom_common.errors import Fatal
from mailroom_sandbox.site.stack.home import read_json, write_json

# Below the ephemeral range of Linux: a port from inside it may be some connection's own when we come back for it.
_RANGE = range(20_000, 32_000)
_LEFTOVER_GRACE_S = 5.0


class PortTaken(Fatal):
    pass


class PortForbidden(Fatal):
    """This user may not listen on it: on Linux, by default, the ports below 1024 are root's."""


def choose_ports(path: Path, names: Iterable[str], fixed: Mapping[str, int] | None = None) -> dict[str, int]:
    """The kept port of each name, chosen now where there is none yet; `fixed` ones come from the environment.

    Raises:
        PortTaken, PortForbidden: a fixed port that is not the kept one cannot be listened on; the kept one stays.
    """
    kept: dict[str, int] = read_json(path, {})
    chosen = {**kept, **(fixed or {})}
    require_free_ports(
        {name: port for name, port in (fixed or {}).items() if kept.get(name) != port},
        hint="set MAILROOM_FRONT_PORT to another",
    )
    for name in names:
        if name not in chosen:
            chosen[name] = free_port(avoid=chosen.values())
    if chosen != kept:
        write_json(path, chosen)
    return chosen


def free_port(avoid: Iterable[int] = ()) -> int:
    taken = set(avoid)
    for port in random.sample(_RANGE, k=200):
        if port not in taken and _is_free(port):
            return port
    raise Fatal("no free port between 20000 and 32000 on 127.0.0.1")


def require_free_ports(ports: Mapping[str, int], *, hint: str) -> None:
    """Raises PortTaken naming port, purpose and holder, or PortForbidden.

    A run that was killed leaves children that are still on their way out, so a taken port gets a few seconds.
    """
    deadline = time.monotonic() + _LEFTOVER_GRACE_S
    for name, port in ports.items():
        if _is_forbidden(port):
            raise PortForbidden(f"this user may not listen on port {port} of {name}: {hint}")
        while not _is_free(port):
            if time.monotonic() > deadline:
                raise PortTaken(f"port {port} of {name} is taken by {_describe_holder(port)}: stop that, or {hint}")
            time.sleep(0.1)


def _is_free(port: int) -> bool:
    return _try_to_listen(port) is None


def _is_forbidden(port: int) -> bool:
    return isinstance(_try_to_listen(port), PermissionError)


def _try_to_listen(port: int) -> OSError | None:
    with socket.socket() as probe:
        # As a server does it: connections of the past that are still closing do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen()
        except OSError as error:
            return error
    return None


def _describe_holder(port: int) -> str:
    for connection in psutil.net_connections("tcp"):
        is_it = connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr[1] == port
        if is_it and connection.pid:
            return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return "another process"

"""Readers that do what a hostile file may make of a reader: run by `test_pool` inside the parser process."""

import contextlib
import ctypes
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from mailroom_common.parser import JSON, UnreadableFile

Arguments = Mapping[str, JSON]

# A thread that is started by an import keeps the capabilities that the process has by then.
_STATUS_AT_IMPORT = Path("/proc/self/status").read_text() if sys.platform == "linux" else ""


def count_bytes(file: BinaryIO, arguments: Arguments) -> JSON:
    return {"size": len(file.read()), "arguments": dict(arguments), "pid": os.getpid()}


def refuse_file(file: BinaryIO, arguments: Arguments) -> JSON:
    raise UnreadableFile("encrypted")


def raise_error_quoting_file(file: BinaryIO, arguments: Arguments) -> JSON:
    raise ValueError(file.read().decode())


def allocate_without_end(file: BinaryIO, arguments: Arguments) -> JSON:
    eaten = []
    while True:
        eaten.append(bytearray(16 * 1024 * 1024))


def loop_without_end(file: BinaryIO, arguments: Arguments) -> JSON:
    while True:
        pass


def sleep_for_an_hour(file: BinaryIO, arguments: Arguments) -> JSON:
    time.sleep(3600)
    return None


def recurse_without_end(file: BinaryIO, arguments: Arguments) -> JSON:
    return recurse_without_end(file, arguments)


def return_large_answer(file: BinaryIO, arguments: Arguments) -> JSON:
    return "x" * (2 * 1024 * 1024)


def print_to_stdout(file: BinaryIO, arguments: Arguments) -> JSON:
    os.write(1, b"\x00\x00\x00\x02{}" * 1000)
    sys.stdout.write("noise\n")
    sys.stdout.flush()
    return "quiet"


def forge_length_prefix(file: BinaryIO, arguments: Arguments) -> JSON:
    for descriptor in range(3, 16):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"\xff\xff\xff\xff" + b"x" * 4096)
    return None


def cause_segfault(file: BinaryIO, arguments: Arguments) -> JSON:
    ctypes.string_at(8)
    return None


def exit_process(file: BinaryIO, arguments: Arguments) -> JSON:
    os._exit(7)


def _try_call(attempt: object) -> str:
    try:
        attempt()  # type: ignore[operator]  # each is a plain function of no arguments
    except OSError as error:
        return type(error).__name__
    return "allowed"


def try_forbidden_calls(file: BinaryIO, arguments: Arguments) -> JSON:
    libc = ctypes.CDLL(None, use_errno=True)

    def native_socket() -> None:
        if libc.socket(2, 1, 0) < 0:
            raise OSError(ctypes.get_errno(), "socket")

    def native_fork() -> None:
        child = libc.fork()
        if child == 0:
            os._exit(0)
        if child < 0:
            raise OSError(ctypes.get_errno(), "fork")

    def native_kill() -> None:
        if libc.kill(os.getppid(), 0) < 0:
            raise OSError(ctypes.get_errno(), "kill")

    def native_unlink() -> None:
        if libc.unlink(str(arguments["victim"]).encode()) < 0:
            raise OSError(ctypes.get_errno(), "unlink")

    return {
        "socket": _try_call(socket.socket),
        "fork": _try_call(os.fork),
        "exec": _try_call(lambda: subprocess.run(["/bin/true"], check=True)),
        "remove": _try_call(lambda: Path(str(arguments["victim"])).unlink()),
        "write": _try_call(lambda: Path(str(arguments["victim"])).write_bytes(b"overwritten")),
        "native_socket": _try_call(native_socket),
        "native_fork": _try_call(native_fork),
        "native_kill": _try_call(native_kill),
        "native_unlink": _try_call(native_unlink),
    }


def read_environments(file: BinaryIO, arguments: Arguments) -> JSON:
    def read_parents() -> None:
        Path(f"/proc/{os.getppid()}/environ").read_bytes()

    return {"own": dict(os.environ), "parents": _try_call(read_parents), "session": os.getsid(0) == os.getpid()}


def try_to_raise_hard_limits(file: BinaryIO, arguments: Arguments) -> JSON:
    names = ("AS", "CPU", "FSIZE", "NOFILE", "CORE")
    for name in names:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for name in names}


def list_descriptors(file: BinaryIO, arguments: Arguments) -> JSON:
    """What each open descriptor is, in their order."""
    entries = sorted(Path("/proc/self/fd").iterdir(), key=lambda entry: int(entry.name))
    return [str(entry.readlink()) for entry in entries if entry.is_symlink()]


def show_capabilities_of_preload(file: BinaryIO, arguments: Arguments) -> JSON:
    return _STATUS_AT_IMPORT

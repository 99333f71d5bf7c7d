"""Readers as a hostile file would turn them: run by `test_parser_pool` inside the parser process."""

import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from mailroom_common.parser import JSON, Unreadable

Arguments = Mapping[str, JSON]


def count(file: BinaryIO, arguments: Arguments) -> JSON:
    return {"size": len(file.read()), "arguments": dict(arguments), "pid": os.getpid()}


def refuse(file: BinaryIO, arguments: Arguments) -> JSON:
    raise Unreadable("encrypted")


def raise_with_contents(file: BinaryIO, arguments: Arguments) -> JSON:
    raise ValueError(file.read().decode())


def eat_memory(file: BinaryIO, arguments: Arguments) -> JSON:
    eaten = []
    while True:
        eaten.append(bytearray(16 * 1024 * 1024))


def loop(file: BinaryIO, arguments: Arguments) -> JSON:
    while True:
        pass


def sleep(file: BinaryIO, arguments: Arguments) -> JSON:
    time.sleep(3600)
    return None


def recurse(file: BinaryIO, arguments: Arguments) -> JSON:
    return recurse(file, arguments)


def answer_hugely(file: BinaryIO, arguments: Arguments) -> JSON:
    return "x" * (2 * 1024 * 1024)


def print_hugely(file: BinaryIO, arguments: Arguments) -> JSON:
    os.write(1, b"\x00\x00\x00\x02{}" * 1000)
    sys.stdout.write("noise\n")
    sys.stdout.flush()
    return "quiet"


def forge_a_frame_without_end(file: BinaryIO, arguments: Arguments) -> JSON:
    for descriptor in range(3, 16):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"\xff\xff\xff\xff" + b"x" * 4096)
    return None


def segfault(file: BinaryIO, arguments: Arguments) -> JSON:
    ctypes.string_at(8)
    return None


def leave(file: BinaryIO, arguments: Arguments) -> JSON:
    os._exit(7)


def _outcome(attempt: object) -> str:
    try:
        attempt()  # type: ignore[operator]  # each is a plain function of no arguments
    except OSError as refused:
        return type(refused).__name__
    return "allowed"


def reach_out(file: BinaryIO, arguments: Arguments) -> JSON:
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
        "socket": _outcome(socket.socket),
        "fork": _outcome(os.fork),
        "exec": _outcome(lambda: subprocess.run(["/bin/true"], check=True)),
        "remove": _outcome(lambda: Path(str(arguments["victim"])).unlink()),
        "write": _outcome(lambda: Path(str(arguments["victim"])).write_bytes(b"overwritten")),
        "native_socket": _outcome(native_socket),
        "native_fork": _outcome(native_fork),
        "native_kill": _outcome(native_kill),
        "native_unlink": _outcome(native_unlink),
    }


def environment(file: BinaryIO, arguments: Arguments) -> JSON:
    def parents() -> None:
        Path(f"/proc/{os.getppid()}/environ").read_bytes()

    return {"own": dict(os.environ), "parents": _outcome(parents), "session": os.getsid(0) == os.getpid()}

"""Readers that do what a hostile file may make of a reader: run by `test_pool` inside the parser process."""

import contextlib
import ctypes
import os
import resource
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from mailroom_common.parser import JSON, UnreadableFile

Arguments = Mapping[str, JSON]
Contents = Iterator[tuple[JSON, Iterable[bytes]]]

# A thread that is started by an import keeps the capabilities that the process has by then.
_STATUS_AT_IMPORT = Path("/proc/self/status").read_text() if sys.platform == "linux" else ""
# The filter refuses the question later on; a process is as its fork server was.
_IS_DUMPABLE_AT_IMPORT = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) if sys.platform == "linux" else 0  # PR_GET_DUMPABLE

_left_behind: list[str] = []


def count_bytes(file: BinaryIO, arguments: Arguments) -> JSON:
    return {"size": len(file.read()), "arguments": dict(arguments), "pid": os.getpid(), "server": os.getppid()}


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

    def native_signal_by_ownership() -> None:
        # F_SETOWN: the kernel would send the signal for us.
        if libc.fcntl(0, 8, os.getppid()) < 0:
            raise OSError(ctypes.get_errno(), "fcntl")

    def native_truncate() -> None:
        if libc.open(str(arguments["victim"]).encode(), os.O_RDONLY | os.O_TRUNC) < 0:
            raise OSError(ctypes.get_errno(), "open")

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
        "native_truncate": _try_call(native_truncate),
        "native_signal_by_ownership": _try_call(native_signal_by_ownership),
    }


def read_environments(file: BinaryIO, arguments: Arguments) -> JSON:
    def read_services() -> None:
        Path(f"/proc/{arguments['service']}/environ").read_bytes()

    def read_parents() -> None:
        Path(f"/proc/{os.getppid()}/environ").read_bytes()

    return {
        "own": dict(os.environ),
        "services": _try_call(read_services),
        "parents": _try_call(read_parents),
        "session": os.getsid(0) == os.getppid(),
    }


def try_to_raise_hard_limits(file: BinaryIO, arguments: Arguments) -> JSON:
    names = ("AS", "CPU", "FSIZE", "NOFILE", "CORE")
    for name in names:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1] for name in names}


def list_descriptors(file: BinaryIO, arguments: Arguments) -> JSON:
    """What each open descriptor is, in their order; /proc cannot be asked."""
    null_device = os.makedev(1, 3)
    found = []
    for descriptor in range(64):
        with contextlib.suppress(OSError):
            status = os.fstat(descriptor)
            kind = "pipe" if stat.S_ISFIFO(status.st_mode) else "other"
            found.append("null device" if status.st_rdev == null_device else f"{kind} {status.st_ino}")
    return found


def open_document(file: BinaryIO, arguments: Arguments) -> JSON:
    """Once by Python and once by the library's own call."""
    path = str(arguments["path"])
    libc = ctypes.CDLL(None, use_errno=True)

    def native_open() -> None:
        if libc.open(path.encode(), os.O_RDONLY) < 0:
            raise OSError(ctypes.get_errno(), "open")

    return {"python": _try_call(Path(path).read_bytes), "native": _try_call(native_open)}


def call_by_x32_number(file: BinaryIO, arguments: Arguments) -> JSON:
    return int(ctypes.CDLL(None).syscall(0x40000000 + 39))  # getpid


def show_capabilities_of_preload(file: BinaryIO, arguments: Arguments) -> JSON:
    return _STATUS_AT_IMPORT


def show_whether_dumpable(file: BinaryIO, arguments: Arguments) -> JSON:
    return bool(_IS_DUMPABLE_AT_IMPORT)


def leave_content_behind(file: BinaryIO, arguments: Arguments) -> JSON:
    """What was left by those before it, as one that has taken over the process would find it."""
    found = [*_left_behind]
    _left_behind.append(file.read().decode())
    return found


def forge_answer(file: BinaryIO, arguments: Arguments) -> JSON:
    """The file is the answer."""
    _write_to_answers(file.read())
    return None


def answer_twice(file: BinaryIO, arguments: Arguments) -> JSON:
    """The second answer is for whoever asks next. Both in one write: it is there when the first has been read."""
    _write_to_answers(b'{"value":"forged"}', b'{"value":"forged"}')
    return "true"


def _write_to_answers(*bodies: bytes) -> None:
    """The pipe of the answers is the one that takes it."""
    for descriptor in range(3, 16):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"".join(len(body).to_bytes(4, "big") + body for body in bodies))


def yield_contents(file: BinaryIO, arguments: Arguments) -> Contents:
    """Pieces of the file, as long as the arguments say."""
    for number, size in enumerate(_read_sizes(arguments)):
        yield {"number": number}, [file.read(size // 2), file.read(size - size // 2)]


def refuse_after_one_content(file: BinaryIO, arguments: Arguments) -> Contents:
    yield "first", [file.read()]
    raise UnreadableFile("broken")


def crash_in_the_second_content(file: BinaryIO, arguments: Arguments) -> Contents:
    yield "first", [file.read()]
    yield "second", _crash_after_a_chunk()


def yield_contents_without_end(file: BinaryIO, arguments: Arguments) -> Contents:
    while True:
        yield None, [bytes(1024)]


def yield_bytes_without_end(file: BinaryIO, arguments: Arguments) -> Contents:
    yield None, (bytes(1024) for _ in iter(int, 1))


def sleep_between_contents(file: BinaryIO, arguments: Arguments) -> Contents:
    for number in range(1000):
        time.sleep(0.2)
        yield number, []


def _crash_after_a_chunk() -> Iterator[bytes]:
    yield b"half"
    os._exit(3)


def _read_sizes(arguments: Arguments) -> list[int]:
    return [int(size) for size in str(arguments["sizes"]).split()]


def forge_contents(file: BinaryIO, arguments: Arguments) -> Contents:
    """The lines of the file are the answers."""
    _write_to_answers(*file.read().splitlines())
    return iter(())


def describe_without_end(file: BinaryIO, arguments: Arguments) -> Contents:
    yield "x" * (1024 * 1024), []

"""What a parser process may not do: reach the network, start programs, touch other processes, rearrange files.

Layers, each by itself enough for the ordinary case. A worker needs those of `REQUIRED_LAYERS`; the others are used
where the kernel lets us, and reported:

- a seccomp filter (Linux on x86-64 and arm64) refuses sockets, fork and exec, signals and ptrace to others, io_uring
  (which would get round the rest), and the calls that remove or rename files. It holds against native code too, needs
  no privilege, and works in containers;
- hard limits of the kernel on memory, processor time, files and core dumps (`limits.py`);
- no inherited descriptors: an open socket or file of the service could be used without opening one;
- a parent that cannot be dumped: its memory and its environment in /proc, where the tokens are, cannot be opened;
- a user and network namespace of its own: no interface to send over, and no place in our user namespace;
- an audit hook: the Python ways to all this raise PermissionError. Alone (no Linux, an odd kernel) it stops what a
  document makes a reader do, not one that has taken over the interpreter.

Sources: seccomp(2), prctl(2) on PR_SET_DUMPABLE, Linux `include/uapi/linux/{seccomp,filter,audit}.h`, both tables of
system calls.
"""

import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from mailroom_common.errors import SettingsError

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER = 1
_EVERY_THREAD = 1  # SECCOMP_FILTER_FLAG_TSYNC: libraries may have started some
_CAPABILITY_VERSION_3 = 0x20080522
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_CLONE_THREAD = 0x00010000

_EPERM = 1
_ENOSYS = 38

_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | _EPERM
_UNKNOWN = 0x00050000 | _ENOSYS
_KILL = 0x80000000

# Byte offsets in struct seccomp_data.
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _JUMP_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x45, 0x06

# Same names for both, so that one list can be compared with the other.
_REFUSED = {
    "x86_64": {
        "socket": 41, "connect": 42, "bind": 49, "listen": 50, "socketpair": 53, "fork": 57, "vfork": 58, "execve": 59,
        "execveat": 322, "kill": 62, "tkill": 200, "tgkill": 234, "rt_sigqueueinfo": 129, "pidfd_open": 434,
        "pidfd_send_signal": 424, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
        "io_uring_setup": 425, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250, "add_key": 248,
        "request_key": 249, "mount": 165, "umount2": 166, "setns": 308, "unshare": 272, "unlink": 87, "unlinkat": 263,
        "rmdir": 84, "rename": 82, "renameat": 264, "renameat2": 316, "truncate": 76, "mknod": 133, "mknodat": 259,
    },
    "aarch64": {
        "socket": 198, "connect": 203, "bind": 200, "listen": 201, "socketpair": 199, "execve": 221, "execveat": 281,
        "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138, "pidfd_open": 434, "pidfd_send_signal": 424,
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "io_uring_setup": 425, "bpf": 280,
        "perf_event_open": 241, "userfaultfd": 282, "keyctl": 219, "add_key": 217, "request_key": 218, "mount": 40,
        "umount2": 39, "setns": 268, "unshare": 97, "unlinkat": 35, "renameat": 38, "renameat2": 276, "truncate": 45,
        "mknodat": 33,
    },
}  # fmt: skip
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_SECCOMP = {"x86_64": 317, "aarch64": 277}


class ConfinementLayer(StrEnum):
    SECCOMP_FILTER = "seccomp_filter"  # the kernel refuses network, other processes and their memory
    HARD_LIMITS = "hard_limits"  # on memory, processor time and files; the child cannot raise them
    NO_INHERITED_DESCRIPTORS = "no_inherited_descriptors"  # no file or connection of the worker is open in the child
    UNREADABLE_PARENT = "unreadable_parent"  # the worker's memory and environment cannot be opened
    NAMESPACES = "namespaces"  # a network of its own without interfaces; only where the kernel allows it
    AUDIT_HOOK = "audit_hook"  # Python itself refuses what a reader has no use for


# What is missing, in the words of the sentence that a worker ends with.
REQUIRED_LAYERS = {
    ConfinementLayer.SECCOMP_FILTER: "a seccomp filter (it needs Linux on x86-64 or arm64)",
    ConfinementLayer.HARD_LIMITS: "hard limits on memory, processor time and files",
    ConfinementLayer.NO_INHERITED_DESCRIPTORS: "a start without inherited descriptors",
    ConfinementLayer.UNREADABLE_PARENT: "a parent that cannot be dumped (its memory and environment can be read)",
}


class ParserUnconfined(SettingsError):
    """A parser process of this machine lacks a required layer, and nobody said that it may."""

    def __init__(self, layers: Iterable[str]) -> None:
        missing = [name for layer, name in REQUIRED_LAYERS.items() if layer not in set(layers)]
        super().__init__(
            f"The parser process, which opens untrusted input, is not confined: it lacks {'; '.join(missing)}. "
            "MAILROOM_PARSER_UNCONFINED=1 starts the worker all the same."
        )


def has_required_layers(layers: Iterable[str]) -> bool:
    return REQUIRED_LAYERS.keys() <= set(layers)


def forbid_dumping_this_process() -> None:
    """Run by the service: from now on no other process of its user can open its memory or its environment."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def close_inherited_descriptors() -> bool:
    """Close all but the three standard streams; to be called before this process opens anything.

    uvloop starts a child with copies of its pipes, and with the pipe by which libuv serializes signal handlers.

    Returns:
        whether nothing else is open.
    """
    try:
        # The listing itself had a descriptor, which is closed by now.
        inherited = {int(entry.name) for entry in Path("/dev/fd").iterdir()} - {0, 1, 2}
    except OSError:
        return False
    for descriptor in inherited:
        os.closerange(descriptor, descriptor + 1)
    return not any(_is_open(descriptor) for descriptor in inherited)


def drop_capabilities() -> None:
    """Give up the superuser's: a child could raise its hard limits with them, and read other processes.

    To be called before anything starts a thread: each thread has its own, and passes them on to those it starts.
    """
    if sys.platform == "linux":
        _set_no_capabilities(ctypes.CDLL(None))


def confine_process(parent: int) -> list[str]:
    """Confine this process for the rest of its life; `parent` is the process id of the service.

    Returns:
        the layers that took hold.
    """
    layers = [ConfinementLayer.AUDIT_HOOK]
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        # Namespaces first: the filter refuses `unshare` along with the rest.
        if _enter_namespaces(libc):
            layers.append(ConfinementLayer.NAMESPACES)
        # Once more: a user namespace of its own gives a process all capabilities in there.
        _set_no_capabilities(libc)
        if _install_seccomp_filter(libc):
            layers.append(ConfinementLayer.SECCOMP_FILTER)
    # Tried, and last: a capability of the superuser, had it been kept, would open what cannot be dumped all the same.
    if _is_unreadable(parent):
        layers.append(ConfinementLayer.UNREADABLE_PARENT)
    sys.addaudithook(_refuse_audit_event)
    return [layer.value for layer in layers]


def die_with_parent(parent: int) -> None:
    """Be killed when the service is, however that one ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have ended before we asked.
    if os.getppid() != parent:
        os._exit(0)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _is_unreadable(process_id: int) -> bool:
    try:
        with Path(f"/proc/{process_id}/environ").open("rb"):
            return False
    except PermissionError:
        return True
    except FileNotFoundError:
        # Mounted with hidepid=2, /proc does not list what may not be read. Without /proc nothing was tried.
        return Path(f"/proc/{os.getpid()}/stat").exists()
    except OSError:
        return False


def _enter_namespaces(libc: ctypes.CDLL) -> bool:
    return bool(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0)


def _set_no_capabilities(libc: ctypes.CDLL) -> None:
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    libc.capset(header, bytes(24))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _install_seccomp_filter(libc: ctypes.CDLL) -> bool:
    machine = platform.machine()
    if machine not in _REFUSED:
        return False
    code = _build_filter(machine)
    program = _Program(len(code) // 8, code)
    # Without new privileges a filter needs none: exec of a setuid program can then gain nothing either.
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.syscall(_SECCOMP[machine], _SET_MODE_FILTER, _EVERY_THREAD, ctypes.byref(program)) == 0)


def _build_filter(machine: str) -> bytes:
    """The filter as classic BPF. Calls of a foreign architecture (32-bit on x86-64) kill: they have other numbers."""
    program = [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for number in sorted(_REFUSED[machine].values()):
        program += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    program += [
        # The flags of clone3 lie behind a pointer; glibc falls back to clone when there is no such call.
        (_JUMP_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, _UNKNOWN),
        (_JUMP_EQUAL, 0, 3, _CLONE[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_JUMP_SET, 1, 0, _CLONE_THREAD),  # a thread of ours is no new process
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


_REFUSED_EVENTS = ("socket.", "subprocess.", "os.fork", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.kill",
                   "os.remove", "os.rename", "os.rmdir", "os.startfile", "pty.", "shutil.", "ftplib.", "http.client.",
                   "urllib.", "smtplib.", "poplib.", "imaplib.", "telnetlib.", "webbrowser.", "syslog.")  # fmt: skip


def _refuse_audit_event(event: str, _arguments: object) -> None:
    if event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"a parser process may not do {event}")

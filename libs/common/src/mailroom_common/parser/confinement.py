"""What a parser process may not do: reach the network, start programs, touch other processes or other documents.

Layers, each by itself enough for the ordinary case. A worker needs those of `REQUIRED_LAYERS`; the others are used
where the kernel lets us, and reported:

- a seccomp filter (Linux on x86-64 and arm64) allows what a reader needs and refuses the rest (`seccomp.py`). It holds
  against native code too, needs no privilege, and works in containers;
- hard limits of the kernel on memory, processor time, files and core dumps (`limits.py`);
- no inherited descriptors: an open socket or file of the service could be used without opening one;
- a parent that cannot be dumped: its memory and its environment in /proc, where the tokens are, cannot be opened;
- private files that cannot be opened: secrets that came as files, documents beside the one being read. The process
  tries each of them, whichever layer refuses it;
- Landlock: no file but Python's own can be opened (`landlock.py`);
- a user and network namespace of its own: no interface to send over, and no place in our user namespace;
- an audit hook: the Python ways to all this raise PermissionError. Alone (no Linux, an odd kernel) it stops what a
  document makes a reader do, not one that has taken over the interpreter.

Source: prctl(2) on PR_SET_DUMPABLE.
"""

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from mailroom_common.errors import SettingsError
from mailroom_common.parser import landlock, seccomp

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_CAPABILITY_VERSION_3 = 0x20080522
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000


class ConfinementLayer(StrEnum):
    SECCOMP_FILTER = "seccomp_filter"  # the kernel refuses every call that a reader has no use for
    HARD_LIMITS = "hard_limits"  # on memory, processor time and files; the child cannot raise them
    NO_INHERITED_DESCRIPTORS = "no_inherited_descriptors"  # no file or connection of the worker is open in the child
    UNREADABLE_PARENT = "unreadable_parent"  # the worker's memory and environment cannot be opened
    UNREADABLE_FILES = "unreadable_files"  # the worker's secret files and other documents cannot be opened
    LANDLOCK = "landlock"  # no file but Python's own can be opened; only where the kernel has it
    NAMESPACES = "namespaces"  # a network of its own without interfaces; only where the kernel allows it
    AUDIT_HOOK = "audit_hook"  # Python itself refuses what a reader has no use for


# What is missing, in the words of the sentence that a worker ends with.
REQUIRED_LAYERS = {
    ConfinementLayer.SECCOMP_FILTER: "a seccomp filter (it needs Linux on x86-64 or arm64)",
    ConfinementLayer.HARD_LIMITS: "hard limits on memory, processor time and files",
    ConfinementLayer.NO_INHERITED_DESCRIPTORS: "a start without inherited descriptors",
    ConfinementLayer.UNREADABLE_PARENT: "a parent that cannot be dumped (its memory and environment can be read)",
    ConfinementLayer.UNREADABLE_FILES: (
        "Landlock, or another layer that keeps it from files (Landlock needs Linux 5.13 or newer with `landlock` among "
        "its security modules, and a container runtime that lets the calls through; "
        "a secret below /usr or a folder of Python's own has to lie elsewhere)"
    ),
}


class ParserUnconfined(SettingsError):
    """A parser process of this machine lacks a required layer, and nobody said that it may."""

    def __init__(self, layers: Iterable[str], readable_files: Sequence[str] = ()) -> None:
        missing = [name for layer, name in REQUIRED_LAYERS.items() if layer not in set(layers)]
        opened = f" It can open {', '.join(readable_files)}." if readable_files else ""
        super().__init__(
            f"The parser process, which opens untrusted input, is not confined: it lacks {'; '.join(missing)}.{opened} "
            "MAILROOM_PARSER_UNCONFINED=1 starts the worker all the same."
        )


def has_required_layers(layers: Iterable[str]) -> bool:
    return REQUIRED_LAYERS.keys() <= set(layers)


def forbid_dumping_this_process() -> None:
    """From now on no other process of this user can open the memory or the environment of this one.

    Run by the service, which has the secrets, and by the fork server, whose processes inherit it.
    """
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


def close_descriptors_except(*kept: int) -> bool:
    """Close all but the three standard streams and `kept`, in a process that has only just been forked.

    Returns:
        whether nothing else is open.
    """
    end, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    first = 3
    for descriptor in [*sorted(kept), end]:
        os.closerange(first, descriptor)
        first = descriptor + 1
    return not any(_is_open(descriptor) for descriptor in range(3, max(kept) + 8) if descriptor not in kept)


def confine_fork_server(service: int) -> list[str]:
    """Confine the process that forks the parser processes, for the rest of its life; they inherit each layer.

    `service` is the process id of the service.

    Returns:
        the layers that took hold.
    """
    layers = []
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        # Namespaces first: the filter refuses `unshare` along with the rest.
        if _enter_namespaces(libc):
            layers.append(ConfinementLayer.NAMESPACES)
        # Once more: a user namespace of its own gives a process all capabilities in there.
        _set_no_capabilities(libc)
    # Tried, and without capabilities: the superuser's would open what cannot be dumped all the same. Before Landlock,
    # which would refuse the file whatever the service is.
    if _is_unreadable(service):
        layers.append(ConfinementLayer.UNREADABLE_PARENT)
    # After the namespaces: the kernel may forget it when the credentials of a process change.
    die_with_parent(service)
    if sys.platform == "linux":
        if landlock.restrict_files(libc, landlock.find_readable_paths()):
            layers.append(ConfinementLayer.LANDLOCK)
        # Last: it refuses the calls that all the others need. Each parser process has a filter of its own, which is
        # reported; this one is that of a process which no document reaches.
        seccomp.install_filter(libc, seccomp.FORK_SERVER)
    return [layer.value for layer in layers]


def confine_parser_process() -> list[str]:
    """What a forked process has beyond the layers of the server that forked it.

    Returns:
        the layers that took hold.
    """
    layers = [ConfinementLayer.AUDIT_HOOK]
    if sys.platform == "linux" and seccomp.install_filter(ctypes.CDLL(None, use_errno=True), seccomp.PARSER_PROCESS):
        layers.append(ConfinementLayer.SECCOMP_FILTER)
    sys.addaudithook(_refuse_audit_event)
    return [layer.value for layer in layers]


def find_readable_files(paths: Iterable[str]) -> list[str]:
    """Those of `paths`, files and folders, that this process can open. Run once it is confined."""
    return [path for path in paths if not _is_refused(path)]


def die_with_parent(parent: int) -> None:
    """Be killed when the parent ends, however it does."""
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


def _is_refused(path: str) -> bool:
    try:
        # Without waiting: a pipe would wait for its writer.
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except (PermissionError, FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        # It failed for a reason that another moment may not have.
        return False
    return False


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


_REFUSED_EVENTS = ("socket.", "subprocess.", "os.fork", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.kill",
                   "os.remove", "os.rename", "os.rmdir", "os.startfile", "pty.", "shutil.", "ftplib.", "http.client.",
                   "urllib.", "smtplib.", "poplib.", "imaplib.", "telnetlib.", "webbrowser.", "syslog.")  # fmt: skip


def _refuse_audit_event(event: str, _arguments: object) -> None:
    if event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"a parser process may not do {event}")

"""The files that a parser process may open: what Python and its libraries are made of, and nothing that we keep.

Landlock (Linux 5.13 and newer) lets a process give up access to files, from a later version on also to TCP ports and to
signals, without any privilege. The document itself comes through the pipe.

Sources: landlock(7), Linux `include/uapi/linux/landlock.h`.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on x86-64 and arm64
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# How many of the rights over files, and what else, each version of the interface knows.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_BIND_AND_CONNECT = 0b11  # version 4
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11  # version 6

# The loader's cache and the time zone are files by themselves; everything else of /etc is nobody's business.
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime")


def find_readable_paths() -> list[Path]:
    """What libraries load themselves and their data from."""
    folders = {*_SYSTEM, sys.prefix, sys.base_prefix, *sys.path}
    return sorted(path for path in map(Path, folders) if path.is_absolute() and path != Path("/") and path.exists())


def restrict_files(libc: ctypes.CDLL, readable: Iterable[Path]) -> bool:
    """Open nothing from now on but `readable` and what is below it, and that only for reading.

    Returns:
        whether the kernel took it.
    """
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 1:  # a kernel without it, or a container's profile that refuses the call
        return False
    attributes = _build_attributes(version)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    try:
        return (
            all(_allow_reading(libc, ruleset, path) for path in readable)
            and libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            and libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
        )
    finally:
        os.close(ruleset)


def _build_attributes(version: int) -> bytes:
    files = (1 << _FILE_RIGHTS[min(version, max(_FILE_RIGHTS))]) - 1
    parts = [files]
    if version >= 4:
        parts.append(_TCP_BIND_AND_CONNECT)
    if version >= 6:
        parts.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
    return struct.pack(f"={len(parts)}Q", *parts)


def _allow_reading(libc: ctypes.CDLL, ruleset: int, path: Path) -> bool:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights = _READ_FILE | _READ_DIR if path.is_dir() else _READ_FILE
        rule = struct.pack("=Qi", rights, descriptor)
        return bool(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0) == 0)
    finally:
        os.close(descriptor)

"""The system calls that a parser process may make: an allow-list, as a filter that the kernel runs before each call.

The fork server has a filter too, with the few calls more that it forks, confines and supervises processes by. A process
that it forks adds the narrower one: a call has to pass both.

What a reader needs is little: read what is open, open files for reading, memory, threads, the clock. Everything else is
refused, calls included that the kernel will learn after this list was written. Calls that could do more than they are
listed for are allowed for some values of one argument only.

Sources: seccomp(2), Linux `include/uapi/linux/{seccomp,filter,audit,fcntl,prctl}.h`, both tables of system calls.
"""

import ctypes
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER = 1
_EVERY_THREAD = 1  # SECCOMP_FILTER_FLAG_TSYNC: libraries may have started some

_EPERM = 1
_ENOSYS = 38
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | _EPERM
_UNKNOWN = 0x00050000 | _ENOSYS
_KILL = 0x80000000

# Byte offsets in struct seccomp_data; of an argument of 64 bits the lower half, which both machines have first.
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _JUMP_EQUAL, _JUMP_GREATER_OR_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
# Calls of the x32 form of programs: they are x86-64's to the kernel, and each has a number beyond this one.
_X32_BIT = 0x40000000
# Its flags lie behind a pointer, where a filter cannot look; glibc falls back to clone when there is no such call.
_CLONE3 = 435

# Same names for both machines, so that one list can be compared with the other.
ALLOWED = {
    "x86_64": {
        "read": 0, "write": 1, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mmap": 9,
        "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
        "pread64": 17, "readv": 19, "writev": 20, "access": 21, "select": 23, "sched_yield": 24, "mremap": 25,
        "madvise": 28, "dup": 32, "dup2": 33, "nanosleep": 35, "getpid": 39, "exit": 60, "uname": 63, "getcwd": 79,
        "readlink": 89, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "times": 100,
        "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "getpgrp": 111, "getpgid": 121,
        "getsid": 124, "sigaltstack": 131, "statfs": 137, "fstatfs": 138, "sched_getparam": 143,
        "sched_getscheduler": 145, "sched_get_priority_max": 146, "sched_get_priority_min": 147, "arch_prctl": 158,
        "setrlimit": 160, "gettid": 186, "time": 201, "futex": 202, "sched_getaffinity": 204, "getdents64": 217,
        "set_tid_address": 218, "restart_syscall": 219, "fadvise64": 221, "clock_gettime": 228, "clock_getres": 229,
        "clock_nanosleep": 230, "exit_group": 231, "newfstatat": 262, "readlinkat": 267, "faccessat": 269,
        "pselect6": 270, "ppoll": 271, "set_robust_list": 273, "get_robust_list": 274, "dup3": 292, "getcpu": 309,
        "getrandom": 318, "membarrier": 324, "statx": 332, "rseq": 334, "faccessat2": 439,
    },
    "aarch64": {
        "getcwd": 17, "dup": 23, "dup3": 24, "statfs": 43, "fstatfs": 44, "faccessat": 48, "close": 57,
        "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67,
        "pselect6": 72, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94,
        "set_tid_address": 96, "futex": 98, "set_robust_list": 99, "get_robust_list": 100, "nanosleep": 101,
        "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115, "sched_getscheduler": 120,
        "sched_getparam": 121, "sched_getaffinity": 123, "sched_yield": 124, "sched_get_priority_max": 125,
        "sched_get_priority_min": 126, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "rt_sigreturn": 139, "times": 153, "getpgid": 155, "getsid": 156, "uname": 160,
        "getrlimit": 163, "setrlimit": 164, "getrusage": 165, "getcpu": 168, "gettimeofday": 169, "getpid": 172,
        "getppid": 173, "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179,
        "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "fadvise64": 223, "mprotect": 226, "madvise": 233,
        "getrandom": 278, "membarrier": 283, "statx": 291, "rseq": 293, "faccessat2": 439,
    },
}  # fmt: skip

_FORK_SERVER_ALLOWED = {
    "x86_64": {"recvmsg": 47, "wait4": 61, "seccomp": 317, "close_range": 436},
    "aarch64": {"recvmsg": 212, "wait4": 260, "seccomp": 277, "close_range": 436},
}


@dataclass(frozen=True, slots=True)
class _ArgumentRule:
    """A call that is allowed when argument `index` (from 0) equals one of `values`, has a bit of `any_bit`, or has none
    of `no_bit`."""

    numbers: dict[str, int]
    index: int
    values: Sequence[int] = ()
    any_bit: int = 0
    no_bit: int = 0


_WRITING = 0o1 | 0o2 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
ARGUMENT_RULES = {
    "open": _ArgumentRule({"x86_64": 2}, 1, no_bit=_WRITING),
    "openat": _ArgumentRule({"x86_64": 257, "aarch64": 56}, 2, no_bit=_WRITING),
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC: F_SETOWN would send signals to others.
    "fcntl": _ArgumentRule({"x86_64": 72, "aarch64": 25}, 1, (0, 1, 2, 3, 1030)),
    # TCGETS, TIOCGWINSZ, FIONCLEX, FIOCLEX: what Python asks of a file that it opens.
    "ioctl": _ArgumentRule({"x86_64": 16, "aarch64": 29}, 1, (0x5401, 0x5413, 0x5450, 0x5451)),
    # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA (names of memory areas, by glibc).
    "prctl": _ArgumentRule({"x86_64": 157, "aarch64": 167}, 0, (15, 16, 0x53564D41)),
    "prlimit64": _ArgumentRule({"x86_64": 302, "aarch64": 261}, 0, (0,)),  # of this process only
    "clone": _ArgumentRule({"x86_64": 56, "aarch64": 220}, 0, any_bit=0x00010000),  # CLONE_THREAD: no new process
}
_CLONE_THREAD = 0x00010000
_FORK_SERVER_RULES = {
    # For the process that it forks: PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS.
    "prctl": _ArgumentRule({"x86_64": 157, "aarch64": 167}, 0, (1, 38, 15, 16, 0x53564D41)),
    # A new process, as C libraries fork one: SIGCHLD at its end, its id stored or not; no namespace, no shared memory.
    "clone": _ArgumentRule({"x86_64": 56, "aarch64": 220}, 0, (0x01200011, 17), any_bit=_CLONE_THREAD),
    "kill": _ArgumentRule({"x86_64": 62, "aarch64": 129}, 1, (9,)),  # SIGKILL
}

_Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


@dataclass(frozen=True, slots=True)
class FilterKind:
    """The calls that one kind of process may make, by machine, and those that are allowed for some arguments only."""

    allowed: Mapping[str, Mapping[str, int]]
    argument_rules: Mapping[str, _ArgumentRule]


PARSER_PROCESS = FilterKind(ALLOWED, ARGUMENT_RULES)
FORK_SERVER = FilterKind(
    {machine: {**calls, **_FORK_SERVER_ALLOWED[machine]} for machine, calls in ALLOWED.items()},
    {**ARGUMENT_RULES, **_FORK_SERVER_RULES},
)


def install_filter(libc: ctypes.CDLL, kind: FilterKind) -> bool:
    """Put every thread of this process under the filter, for good.

    Returns:
        whether the kernel took it.
    """
    machine = platform.machine()
    if machine not in ALLOWED:
        return False
    code = build_filter(machine, kind)
    program = _Program(len(code) // 8, code)
    # Without new privileges a filter needs none: exec of a setuid program can then gain nothing either.
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.syscall(_SECCOMP[machine], _SET_MODE_FILTER, _EVERY_THREAD, ctypes.byref(program)) == 0)


def build_filter(machine: str, kind: FilterKind = PARSER_PROCESS) -> bytes:
    """The filter as classic BPF. Calls of a foreign architecture (32-bit on x86-64, x32) kill: no library makes any."""
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_GREATER_OR_EQUAL, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _KILL),
    ]
    for number in sorted(kind.allowed[machine].values()):
        program += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for rule in kind.argument_rules.values():
        if machine in rule.numbers:
            checks = _build_checks(rule)
            program += [(_JUMP_EQUAL, 0, len(checks), rule.numbers[machine]), *checks]
    program += [
        (_JUMP_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, _UNKNOWN),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _build_checks(rule: _ArgumentRule) -> list[_Instruction]:
    checks: list[_Instruction] = [(_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * rule.index)]
    for value in rule.values:
        checks += [(_JUMP_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
    if rule.any_bit:
        checks += [(_JUMP_SET, 0, 1, rule.any_bit), (_RETURN, 0, 0, _ALLOW)]
    if rule.no_bit:
        checks += [(_JUMP_SET, 1, 0, rule.no_bit), (_RETURN, 0, 0, _ALLOW)]
    return [*checks, (_RETURN, 0, 0, _REFUSE)]

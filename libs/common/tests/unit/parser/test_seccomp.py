"""The system call filter, run on a small interpreter of BPF."""

import os
import struct

import pytest

from mailroom_common.parser import seccomp

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050001, 0x00050026
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
READ = {"x86_64": 0, "aarch64": 63}
# By name, what a document must not make of a reader.
DANGEROUS = {
    "x86_64": {
        "socket": 41, "connect": 42, "sendto": 44, "bind": 49, "socketpair": 53, "fork": 57, "vfork": 58, "execve": 59,
        "kill": 62, "truncate": 76, "rename": 82, "mkdir": 83, "unlink": 87, "chmod": 90, "ptrace": 101, "mount": 165,
        "tkill": 200, "tgkill": 234, "unlinkat": 263, "unshare": 272, "process_vm_readv": 310, "execveat": 322,
        "bpf": 321, "io_uring_setup": 425, "pidfd_open": 434, "pidfd_getfd": 438, "openat2": 437,
    },
    "aarch64": {
        "socket": 198, "connect": 203, "sendto": 206, "bind": 200, "socketpair": 199, "execve": 221, "kill": 129,
        "truncate": 45, "unlinkat": 35, "ptrace": 117, "mount": 40, "tkill": 130, "tgkill": 131, "unshare": 97,
        "process_vm_readv": 270, "execveat": 281, "bpf": 280, "io_uring_setup": 425, "pidfd_open": 434,
        "pidfd_getfd": 438, "openat2": 437,
    },
}  # fmt: skip


def run_filter(
    machine: str,
    number: int,
    *,
    arch: int | None = None,
    arguments: tuple[int, ...] = (),
    kind: seccomp.FilterKind = seccomp.PARSER_PROCESS,
) -> int:
    code = seccomp.build_filter(machine, kind)
    padded = (*arguments, *([0] * (6 - len(arguments))))
    call = struct.pack("=IIQ6Q", number, ARCH[machine] if arch is None else arch, 0, *padded)
    instructions = list(struct.iter_unpack("=HBBI", code))
    accumulator = at = 0
    while True:
        operation, if_true, if_false, value = instructions[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", call, value)
            case 0x15:
                at += if_true if accumulator == value else if_false
            case 0x35:
                at += if_true if accumulator >= value else if_false
            case 0x45:
                at += if_true if accumulator & value else if_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"no such instruction: {operation:#x}")


def run_rule(machine: str, name: str, *arguments: int, kind: seccomp.FilterKind = seccomp.PARSER_PROCESS) -> int:
    return run_filter(machine, kind.argument_rules[name].numbers[machine], arguments=arguments, kind=kind)


@MACHINES
def test_what_is_on_the_list_is_allowed_and_everything_else_refused(machine: str) -> None:
    allowed = set(seccomp.ALLOWED[machine].values())
    by_argument = {rule.numbers.get(machine) for rule in seccomp.ARGUMENT_RULES.values()}
    assert {run_filter(machine, number) for number in allowed} == {ALLOW}
    assert {run_filter(machine, number) for number in range(1024) if number not in allowed | by_argument} == {
        EPERM,
        ENOSYS,
    }


@MACHINES
def test_network_programs_signals_and_changes_of_files_are_refused(machine: str) -> None:
    outcomes = {name: run_filter(machine, number) for name, number in DANGEROUS[machine].items()}
    assert set(outcomes.values()) == {EPERM}, outcomes


@MACHINES
def test_a_thread_may_be_started_and_a_process_not(machine: str) -> None:
    assert run_rule(machine, "clone", 0x00010000) == ALLOW
    assert run_rule(machine, "clone", 17) == EPERM
    assert run_filter(machine, 435) == ENOSYS  # clone3, whose flags a filter cannot see


@MACHINES
def test_a_file_may_be_opened_for_reading_only(machine: str) -> None:
    assert run_rule(machine, "openat", 0, 0, os.O_RDONLY | os.O_CLOEXEC) == ALLOW
    for flag in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC):
        assert run_rule(machine, "openat", 0, 0, flag) == EPERM


@MACHINES
def test_calls_that_reach_further_are_allowed_for_what_readers_do_with_them(machine: str) -> None:
    assert run_rule(machine, "prlimit64", 0, 7) == ALLOW
    assert run_rule(machine, "prlimit64", 4711, 7) == EPERM  # another process
    assert run_rule(machine, "fcntl", 3, 1030) == ALLOW
    assert run_rule(machine, "fcntl", 3, 8) == EPERM  # F_SETOWN
    assert run_rule(machine, "ioctl", 0, 0x5401) == ALLOW
    assert run_rule(machine, "ioctl", 0, 0x5412) == EPERM  # TIOCSTI
    assert run_rule(machine, "prctl", 15) == ALLOW
    assert run_rule(machine, "prctl", 1) == EPERM  # PR_SET_PDEATHSIG: it would outlive the service
    assert run_rule(machine, "prctl", 4) == EPERM  # PR_SET_DUMPABLE
    assert run_rule(machine, "prctl", 22) == EPERM  # PR_SET_SECCOMP


@MACHINES
def test_calls_by_the_numbers_of_another_machine_kill(machine: str) -> None:
    assert run_filter(machine, READ[machine], arch=0x40000003) == KILL
    assert run_filter(machine, 0x40000000 + READ[machine]) == KILL


@MACHINES
def test_the_fork_server_may_fork_and_kill_and_no_more_than_that(machine: str) -> None:
    server = seccomp.FORK_SERVER
    beyond = {number for name, number in DANGEROUS[machine].items() if name != "kill"}
    assert {run_filter(machine, number, kind=server) for number in beyond} == {EPERM}
    assert run_rule(machine, "clone", 0x01200011, kind=server) == ALLOW
    assert run_rule(machine, "clone", 0x10000011, kind=server) == EPERM  # in a user namespace of its own
    assert run_rule(machine, "clone", 0x00004111, kind=server) == EPERM  # vfork: with the server's memory
    assert run_rule(machine, "kill", 4711, 9, kind=server) == ALLOW
    assert run_rule(machine, "kill", 4711, 19, kind=server) == EPERM
    assert run_filter(machine, READ[machine], arch=0x40000003, kind=server) == KILL
    assert run_filter(machine, 0x40000000 + READ[machine], kind=server) == KILL


@MACHINES
def test_what_a_parser_process_may_do_its_fork_server_may_too(machine: str) -> None:
    # A call has to pass both filters.
    server = seccomp.FORK_SERVER
    assert seccomp.ALLOWED[machine].items() <= server.allowed[machine].items()
    for name, rule in seccomp.ARGUMENT_RULES.items():
        assert set(rule.values) <= set(server.argument_rules[name].values)
        assert (rule.any_bit, rule.no_bit) == (server.argument_rules[name].any_bit, server.argument_rules[name].no_bit)


def test_both_lists_name_the_same_calls_where_both_machines_have_them() -> None:
    only_on_x86 = {
        "stat", "lstat", "poll", "access", "select", "dup2", "readlink", "getpgrp", "arch_prctl", "time",
    }  # fmt: skip
    assert seccomp.ALLOWED["x86_64"].keys() - seccomp.ALLOWED["aarch64"].keys() == only_on_x86
    assert seccomp.ALLOWED["aarch64"].keys() <= seccomp.ALLOWED["x86_64"].keys()

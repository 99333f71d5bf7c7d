"""The system call filter, run on an interpreter of our own: what it says for both machines, of which one is here."""

import struct

import pytest

from mailroom_common.parser import confinement

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050001, 0x00050026
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
READ = {"x86_64": 0, "aarch64": 63}
CLONE = {"x86_64": 56, "aarch64": 220}
THREAD, SIGCHLD = 0x00010000, 17


def verdict(machine: str, number: int, *, arch: int | None = None, first_argument: int = 0) -> int:
    code = confinement._instructions(machine)
    call = struct.pack("=IIQQ", number, ARCH[machine] if arch is None else arch, 0, first_argument)
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
            case 0x45:
                at += if_true if accumulator & value else if_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"no such instruction: {operation:#x}")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_what_is_on_the_list_is_refused_and_the_rest_allowed(machine: str) -> None:
    refused = confinement._REFUSED[machine]
    assert {"socket", "connect", "execve", "kill", "ptrace", "io_uring_setup", "unlinkat"} <= refused.keys()
    assert {verdict(machine, number) for number in refused.values()} == {EPERM}
    assert verdict(machine, READ[machine]) == ALLOW


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_thread_may_be_started_and_a_process_not(machine: str) -> None:
    assert verdict(machine, CLONE[machine], first_argument=THREAD) == ALLOW
    assert verdict(machine, CLONE[machine], first_argument=SIGCHLD) == EPERM
    assert verdict(machine, 435) == ENOSYS  # clone3, whose flags a filter cannot see


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_calls_by_the_numbers_of_another_machine_kill(machine: str) -> None:
    assert verdict(machine, READ[machine], arch=0x40000003) == KILL


def test_both_lists_name_the_same_calls_where_both_machines_have_them() -> None:
    only_on_x86 = {"fork", "vfork", "unlink", "rmdir", "rename", "mknod"}
    assert confinement._REFUSED["x86_64"].keys() - confinement._REFUSED["aarch64"].keys() == only_on_x86

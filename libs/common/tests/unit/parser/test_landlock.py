import ctypes
import sys
from pathlib import Path

import pytest

from mailroom_common.parser import landlock


def test_what_libraries_load_themselves_from_can_be_read_and_the_root_is_not_among_it() -> None:
    readable = landlock.find_readable_paths()
    assert Path(sys.prefix) in readable
    assert Path("/") not in readable
    assert not [path for path in readable if path.is_relative_to("/proc") or path == Path("/etc")]


def test_a_folder_that_is_not_there_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, "/no/such/folder", "", "relative"])
    assert {Path("/no/such/folder"), Path(), Path("relative")} & set(landlock.find_readable_paths()) == set()


class KernelWithout:
    """A libc whose kernel has no Landlock."""

    def syscall(self, *_arguments: object) -> int:
        return -1


def test_a_kernel_without_landlock_is_no_error() -> None:
    assert not landlock.restrict_files(KernelWithout(), [])  # type: ignore[arg-type]  # the one method that is called


@pytest.mark.parametrize(("version", "numbers"), [(1, 1), (3, 1), (4, 2), (6, 3), (7, 3)])
def test_each_version_of_the_kernels_interface_is_told_what_it_knows(version: int, numbers: int) -> None:
    attributes = landlock._build_attributes(version)
    assert len(attributes) == numbers * ctypes.sizeof(ctypes.c_uint64)
    assert int.from_bytes(attributes[:8], "little") == {1: 0x1FFF, 3: 0x7FFF, 4: 0x7FFF, 6: 0xFFFF, 7: 0xFFFF}[version]

"""One name means one thing in the whole tree."""

from pathlib import Path

from code_rules import find_classes_of_one_name, read_code_base

# Each process has its own settings, and they are read where they stand.
NAMES_OF_MANY = {"Settings", "WorkerSettings"}


def test_a_public_class_has_a_name_of_its_own() -> None:
    assert find_classes_of_one_name(read_code_base(Path(__file__).parents[2]), NAMES_OF_MANY) == []

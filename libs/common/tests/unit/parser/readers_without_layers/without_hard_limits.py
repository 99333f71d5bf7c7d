"""Imported by a parser process of `test_confinement` before it is confined: a kernel that refuses a limit."""

import resource


def refuse_limit(_kind: int, _limits: tuple[int, int]) -> None:
    raise ValueError("not allowed to raise maximum limit")


resource.setrlimit = refuse_limit

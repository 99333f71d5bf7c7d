"""`mailroom --help`: what each command says of itself."""

from collections.abc import Iterator

import typer.main

from mailroom_cli.__main__ import app


def list_commands(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Of each command its words and what stands below its options."""
    subcommands = getattr(command, "commands", {})
    for name, subcommand in subcommands.items():
        yield from list_commands(subcommand, (*path, name))
    if not subcommands:
        yield " ".join(path), getattr(command, "epilog", None) or ""


def test_each_command_has_an_example_of_itself() -> None:
    commands = list(list_commands(typer.main.get_command(app)))
    assert len(commands) > 40
    assert [words for words, epilog in commands if f"mailroom {words}" not in epilog] == []

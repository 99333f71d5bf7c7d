"""`mailroom`, the command line for operators and engineers; each group of commands is a module of its own."""

import sys

import typer

from mailroom_cli import migrations, topics
from mailroom_common.errors import MailroomError

app = typer.Typer(name="mailroom", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("migrate", epilog=migrations.EXAMPLES)(migrations.migrate_schemas)
app.add_typer(topics.app)


@app.callback()
def describe_command() -> None:
    """The command line for operators and engineers; settings come from the environment, as those of the services."""


def main() -> None:
    try:
        app()
    except MailroomError as error:
        sys.stderr.write(f"mailroom: {error}\n")
        sys.exit(78)


if __name__ == "__main__":
    main()

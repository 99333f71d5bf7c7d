"""`mailroom`: the command line of operators and engineers."""

import sys

import typer

from mailroom_cli.commands import migrate_command, topics_app
from mailroom_common.errors import MailroomError

app = typer.Typer(name="mailroom", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("migrate")(migrate_command)
app.add_typer(topics_app)


@app.callback()
def _describe_app() -> None:
    """The command of operators and engineers; its settings are those of the services, from the environment."""


def main() -> None:
    try:
        app()
    except MailroomError as error:
        sys.stderr.write(f"mailroom: {error}\n")
        sys.exit(78)


if __name__ == "__main__":
    main()

"""`mailroom`, the command line for operators and engineers; each group of commands is a module of its own."""

import logging
import sys

import structlog
import typer

from mailroom_cli import (
    dlq,
    doctor,
    documents,
    messages,
    migrations,
    orders,
    parked,
    read,
    replay,
    sources,
    status,
    subscriptions,
    tail,
    topics,
    trades,
)
from mailroom_cli.terminal import print_text
from mailroom_common.errors import Fatal, MailroomError, Retryable

_EXAMPLES = """Examples:

  mailroom status

  mailroom sources connect outlook --address ap@company.example

  mailroom documents list -f status=needs_review

  mailroom read invoice.pdf

`mailroom COMMAND --help` has the examples of a command.
"""
app = typer.Typer(name="mailroom", no_args_is_help=True, pretty_exceptions_enable=False, epilog=_EXAMPLES)
app.command("migrate", epilog=migrations.EXAMPLES)(migrations.migrate_schemas)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.diagnose_site)
app.command("read", epilog=read.EXAMPLES)(read.read_files)
app.command("status", epilog=status.EXAMPLES)(status.show_status)
app.command("tail", epilog=tail.EXAMPLES)(tail.tail_topic)
app.add_typer(sources.app)
app.add_typer(subscriptions.app)
app.add_typer(topics.app)
app.add_typer(replay.app)
app.add_typer(messages.app)
app.add_typer(parked.app)
app.add_typer(documents.app)
app.add_typer(trades.app)
app.add_typer(orders.app)
app.add_typer(dlq.app)


@app.callback()
def describe_command() -> None:
    """The command line for operators and engineers; settings come from the environment, as those of the services."""


def main() -> None:
    send_logs_to_stderr()
    try:
        app()
    except MailroomError as error:
        print_text(f"mailroom: {error}", err=True)
        sys.exit(_choose_exit_code(error))


def send_logs_to_stderr() -> None:
    """What the shared library logs: from warnings up, and never between the lines of a result."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    # With Kafka away it repeats each attempt as an error; a command says once, at its end, what it could not reach.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


def _choose_exit_code(error: MailroomError) -> int:
    """As sysexits.h has them: a setting or a topic has to be mended, something is away, or the request is refused."""
    match error:
        case Fatal():
            return 78
        case Retryable():
            return 75
        case _:
            return 1


if __name__ == "__main__":
    main()

"""`python -m mailroom_compose`: runs docker-compose.yml, kills each container while mail flows, and compares."""

import argparse
import os
import random
import shutil
import socket
import sys
from pathlib import Path

from mailroom_compose.compose_test import CheckFailed, ComposeTest, Options
from mailroom_compose.engines import CHECKOUT, CommandFailed, find_engine
from mailroom_compose.host_names import localhost_names_resolved
from mailroom_compose.project import NAME, Project

_EXAMPLES = """examples:
  python -m mailroom_compose --seed 7     the order of kills that a run with this seed had
  python -m mailroom_compose --keep       the site stays up afterwards; the next run removes it
"""
# What docker-compose.yml binds on 127.0.0.1.
_PORTS = (8443, 9443, 9444, 9445, 9090, 3000)


def main() -> int:
    options = _parse_arguments()
    state = Path(os.environ.get("MAILROOM_HOME", CHECKOUT / ".mailroom")).absolute() / "compose-test"
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    try:
        _check_prerequisites()
        project = Project(find_engine(), state)
        project.remove()  # what a kept or a killed run has left
        _check_ports()
        with localhost_names_resolved():
            return _run(project, options, state)
    except CommandFailed as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(project: Project, options: Options, state: Path) -> int:
    try:
        ComposeTest(project, options, state).run()
        failures = []
    except (CheckFailed, CommandFailed, TimeoutError) as error:
        failures = [str(error)]
    finally:
        left = [] if options.keep else project.remove()
    if left:
        failures.append(f"`down --volumes` left {', '.join(left)}")
    print(f"· seed {options.seed}; logs of every container in {state / 'logs'}", flush=True)
    if options.keep:
        print(f"· project {NAME} stays up; the next run removes it", flush=True)
    for failure in failures:
        print(f"FAILED: {failure}", flush=True)
    print("FAILED" if failures else "passed", flush=True)
    return 1 if failures else 0


def _parse_arguments() -> Options:
    parser = argparse.ArgumentParser(
        prog="mailroom_compose", description=__doc__, epilog=_EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="decides the order of the kills")
    parser.add_argument("--mails-per-second", type=float, default=1.0, help="default: %(default)s")
    parser.add_argument("--keep", action="store_true", help="leaves containers and volumes as they are at the end")
    given = parser.parse_args()
    return Options(given.seed, given.mails_per_second, given.keep)


def _check_prerequisites() -> None:
    if os.geteuid() != 0:
        raise CommandFailed("run it as root: it kills the processes of containers from outside, as a crash would")


def _check_ports() -> None:
    """Raises CommandFailed where somebody listens already: probably a site of the same file."""
    taken = []
    for port in _PORTS:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                taken.append(str(port))
    if taken:
        raise CommandFailed(f"stop what listens on 127.0.0.1, port {', '.join(taken)}: docker-compose.yml needs it")


if __name__ == "__main__":
    sys.exit(main())

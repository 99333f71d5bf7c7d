"""`python -m mailroom_cluster`: builds, runs the test, or keeps a cluster up to look at."""

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path

from mailroom_cluster import cluster_test, namespaces
from mailroom_cluster.places import Places
from mailroom_cluster.programs import MissingPrerequisite, provide_programs
from mailroom_cluster.site_images import SiteImages
from mailroom_cluster.standins import provide_backends_image

_EXAMPLES = """examples:
  python -m mailroom_cluster test --seed 7         the order of faults that a run with this seed had
  python -m mailroom_cluster test --built --least-pushes 300 --most-faults 2
                                                   a short run, to see a change of the chart or of the test
  python -m mailroom_cluster up                    a site without faults, until Ctrl-C
  python -m mailroom_cluster exec kubectl get pods -A
"""
_KINDS = ("backends", "site")
# Set for the program inside, which finds its images by it.
_ARCHIVES = "MAILROOM_CLUSTER_ARCHIVES"


def main() -> int:
    arguments = _parse_arguments()
    places = Places.from_environment()
    try:
        if arguments.command == "exec":
            return _execute(places, arguments.words)
        if arguments.inside:
            archives = [Path(name) for name in os.environ[_ARCHIVES].split(":")]
            return cluster_test.run_inside(places, archives, arguments)
        archives = _find_built(places) if arguments.built else _build(places)
        if arguments.command == "build":
            return 0
        os.environ[_ARCHIVES] = ":".join(str(archive) for archive in archives)
        return namespaces.run_in_new_namespaces(places, [*sys.argv[1:], "--inside", f"--seed={arguments.seed}"])
    except (MissingPrerequisite, RuntimeError, FileNotFoundError, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="mailroom_cluster", description=__doc__, epilog=_EXAMPLES, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="builds programs and images, and starts nothing")
    executed = commands.add_parser("exec", help="runs a command inside the cluster that is up, with its kubeconfig")
    executed.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    for name, explained in (("test", "the whole test, 0 when it passes"), ("up", "a site to look at, until Ctrl-C")):
        added = commands.add_parser(name, help=explained)
        added.add_argument("--seed", type=int, default=random.randrange(10_000), help="decides the order of the faults")
        added.add_argument("--mails-per-second", type=float, default=5.0, help="default: %(default)s")
        added.add_argument("--least-pushes", type=int, default=3000, help="default: %(default)s")
        added.add_argument("--most-faults", type=int, help="plays the first so many; default: all")
        added.add_argument("--built", action="store_true", help="with the images that there are, older code or not")
        added.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(inside=False, seed=0, built=False)
    return parser.parse_args()


def _build(places: Places) -> list[Path]:
    provide_programs(places.binaries)
    backends = provide_backends_image(places.images, places.reports.parents[1] / "kafka" / "jars")
    print("· building Mailroom's images", flush=True)
    return [backends, SiteImages(places.images).build()]


def _find_built(places: Places) -> list[Path]:
    """The newest archive of each kind."""
    found = [sorted(places.images.glob(f"{kind}-*.tar"), key=lambda file: file.stat().st_mtime) for kind in _KINDS]
    if not all(found):
        raise FileNotFoundError(f"{places.images} has no images yet: run without --built")
    return [archives[-1] for archives in found]


def _execute(places: Places, words: list[str]) -> int:
    environment = {**os.environ, "KUBECONFIG": str(places.state / "kubeconfig")}
    environment["PATH"] = f"{places.binaries}:{environment['PATH']}"
    return subprocess.run([*namespaces.build_entering_command(places), *words], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

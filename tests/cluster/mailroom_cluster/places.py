"""Where things of the cluster test lie: what is built once, what one run makes, and what a run leaves for reading."""

import os
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parents[1] / "programs"
NODE_IP = "10.200.0.1"


@dataclass(frozen=True, slots=True)
class Places:
    """`cache` outlives the run; `state` is emptied by each run, so that none starts from what another one left."""

    cache: Path
    state: Path
    reports: Path

    @classmethod
    def from_environment(cls) -> "Places":
        home = Path(os.environ.get("MAILROOM_HOME", CHECKOUT / ".mailroom")).absolute()
        default_cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mailroom-cluster"
        cache = Path(os.environ.get("MAILROOM_CLUSTER_CACHE", default_cache)).absolute()
        return cls(cache, home / "cluster" / "state", home / "cluster" / "report")

    @property
    def binaries(self) -> Path:
        return self.cache / "bin"

    @property
    def images(self) -> Path:
        return self.cache / "images"

    @property
    def logs(self) -> Path:
        return self.reports / "logs"

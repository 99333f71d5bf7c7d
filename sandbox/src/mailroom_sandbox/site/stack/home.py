"""Where the sandbox keeps its state: `.mailroom` in the checkout, or wherever `MAILROOM_HOME` says."""

import json
import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mailroom_common.errors import Fatal

# Raised with every change that an older state cannot be carried over by: event schemas, tables, the doubles' tables.
STATE_VERSION = 3


def find_checkout() -> Path:
    """The checkout this package is run from; the current folder where it was installed as a wheel."""
    root = Path(__file__).resolve().parents[5]
    return root if (root / "sandbox" / "pyproject.toml").is_file() else Path.cwd()


@dataclass(frozen=True, slots=True)
class Home:
    path: Path

    @property
    def state_version(self) -> Path:
        return self.path / "state-version"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def ports(self) -> Path:
        return self.path / "ports.json"

    @property
    def secrets(self) -> Path:
        return self.path / "secrets.json"

    @property
    def secret_files(self) -> Path:
        """One folder a process, one file a secret."""
        return self.path / "run" / "secrets"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def endpoints(self) -> Path:
        return self.path / "run" / "endpoints.json"

    @property
    def jars(self) -> Path:
        return self.path / "kafka" / "jars"

    @property
    def kafka(self) -> Path:
        return self.path / "kafka"

    @property
    def postgres(self) -> Path:
        return self.path / "postgres"

    @property
    def tls(self) -> Path:
        return self.path / "tls"

    @property
    def blobs(self) -> Path:
        return self.path / "blobs"

    @property
    def providers(self) -> Path:
        return self.path / "providers"

    @property
    def deliveries(self) -> Path:
        return self.path / "deliveries.json"

    def make_private(self) -> None:
        """Mails, keys and passwords are below it: nobody else on the machine reads them."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)

    def read_or_create_secret(self, name: str) -> str:
        """A random value, made once and kept with the state."""
        kept: dict[str, str] = read_json(self.secrets, {})
        if name not in kept:
            kept[name] = secrets.token_urlsafe(32)
            write_json(self.secrets, kept)
        return kept[name]


def require_current_state(home: Home) -> None:
    """Marks a new state with the version of this code; the caller holds the lock.

    Raises:
        Fatal: what is there was written by another version of Mailroom, which this one cannot read.
    """
    # Jars, certificates and ports mean the same in every version; a state begins with the first server's data.
    is_used = any(path.exists() for path in (home.kafka / "data", home.postgres / "data"))
    found = home.state_version.read_text().strip() if home.state_version.exists() else "1"
    if is_used and found != str(STATE_VERSION):
        raise Fatal(
            f"the state in {home.path} is of another version of Mailroom ({found}, this one needs {STATE_VERSION}): "
            "`make clean` forgets it, or MAILROOM_HOME names another place"
        )
    home.make_private()
    home.state_version.write_text(f"{STATE_VERSION}\n")


def find_home(environment: Mapping[str, str] = os.environ) -> Home:
    moved = environment.get("MAILROOM_HOME")
    return Home(Path(moved).expanduser().resolve() if moved else find_checkout() / ".mailroom")


def read_json(path: Path, default: Any) -> Any:
    return json.loads(path.read_text()) if path.exists() else default


def write_json(path: Path, content: Any) -> None:
    """Replaces the file as a whole, readable by its owner only: a reader sees the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    Path(name).replace(path)

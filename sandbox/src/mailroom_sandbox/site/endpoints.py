"""`.mailroom/run/endpoints.json`: where everything of a running site is, for tests, scripts and people."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from mailroom_sandbox.site.stack.home import write_json


@dataclass(frozen=True, slots=True)
class Endpoints:
    """`api_key` is None when the environment brought `MAILROOM_API_KEYS`, which hold digests only."""

    kafka: str
    database: str
    public: str
    gateway: str
    subscription_manager: str
    sync_engine: str
    ingestion: str
    api_key: str | None
    pids: Mapping[str, int]


class EndpointsFile:
    """Appears as a whole once the site is ready, follows each restart, and goes with the site."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content: Endpoints | None = None

    def publish_endpoints(self, endpoints: Endpoints) -> None:
        self._content = endpoints
        write_json(self._path, asdict(endpoints))

    def update_pids(self, pids: Mapping[str, int]) -> None:
        if self._content is not None:
            self.publish_endpoints(replace(self._content, pids=dict(pids)))

    def remove_file(self) -> None:
        self._content = None
        self._path.unlink(missing_ok=True)

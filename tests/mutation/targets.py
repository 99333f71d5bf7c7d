"""What `make mutate` changes, and which tests have to notice: the modules that keep Mailroom's promises."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Target:
    """`sources` are changed, `tests` have to notice it: patterns and paths from the root of the repository."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def list_sources(self) -> list[Path]:
        paths = [path for pattern in self.sources for path in sorted(ROOT.glob(pattern)) if path.name != "__init__.py"]
        if not paths:
            raise FileNotFoundError(f"no module matches {', '.join(self.sources)}")
        return paths


_COMMON = "libs/common/src/mailroom_common"
_COMMON_UNIT = "libs/common/tests/unit"
_SYNC = "services/sync-engine"
_SYNC_SOURCES = f"{_SYNC}/src/sync_engine"
_FOLDING_TESTS = f"{_SYNC}/tests/unit/adapters/test_folding_consumer.py"
_INGESTION = "services/ingestion"
_MANAGER = "services/subscription-manager"
_GATEWAY = "services/webhook-gateway"
_GATEWAY_SOURCES = f"{_GATEWAY}/src/webhook_gateway"

TARGETS = {
    "outbox": Target(
        (f"{_COMMON}/outbox.py",), (f"{_COMMON_UNIT}/test_outbox.py", f"{_COMMON_UNIT}/test_outbox_leadership.py")
    ),
    "windowed": Target((f"{_COMMON}/kafka/windowed.py",), (f"{_COMMON_UNIT}/kafka/test_windowed.py",)),
    "partition_consumer": Target(
        (f"{_COMMON}/kafka/partition_consumer.py",),
        (
            f"{_COMMON_UNIT}/kafka/test_partition_consumer.py",
            f"{_COMMON_UNIT}/kafka/test_windowed.py",
            _FOLDING_TESTS,
        ),
    ),
    "folding_consumer": Target((f"{_SYNC_SOURCES}/adapters/folding_consumer.py",), (_FOLDING_TESTS,)),
    "watermark": Target((f"{_COMMON}/kafka/watermark.py",), (f"{_COMMON_UNIT}/kafka/test_watermark.py",)),
    "watchdog": Target((f"{_COMMON}/kafka/watchdog.py",), (f"{_COMMON_UNIT}/kafka/test_watchdog.py",)),
    "directory": Target((f"{_COMMON}/kafka/directory.py",), (f"{_COMMON_UNIT}/kafka/test_directory.py",)),
    "retries": Target((f"{_COMMON}/retries.py",), (f"{_COMMON_UNIT}/test_retries.py",)),
    "sealing": Target((f"{_COMMON}/tokens/sealing.py",), (f"{_COMMON_UNIT}/tokens/test_sealing.py",)),
    "access": Target(
        (f"{_COMMON}/tokens/access.py",),
        (f"{_COMMON_UNIT}/tokens", "libs/common/tests/integration/tokens/test_access.py"),
    ),
    "store": Target(
        (f"{_COMMON}/tokens/store.py",),
        (f"{_COMMON_UNIT}/tokens", "libs/common/tests/integration/tokens/test_store.py"),
    ),
    "gateway_domain": Target((f"{_GATEWAY_SOURCES}/domain/*.py",), (f"{_GATEWAY}/tests/unit",)),
    "proofs": Target(
        (f"{_GATEWAY_SOURCES}/adapters/pubsub_authenticator.py", f"{_GATEWAY_SOURCES}/adapters/google_public_keys.py"),
        (f"{_GATEWAY}/tests/unit",),
    ),
    "manager_domain": Target(
        (f"{_MANAGER}/src/subscription_manager/domain/*.py",),
        (f"{_MANAGER}/tests/unit",),
    ),
    "sync_domain": Target((f"{_SYNC_SOURCES}/domain/*.py",), (f"{_SYNC}/tests/unit",)),
    "cursors": Target(
        (f"{_SYNC_SOURCES}/adapters/cursors.py", f"{_SYNC_SOURCES}/adapters/pages.py"),
        (
            f"{_SYNC}/tests/integration/adapters/test_cursors.py",
            f"{_SYNC}/tests/integration/adapters/test_pages.py",
            f"{_SYNC}/tests/integration/handlers/test_advance_cursor.py",
            f"{_SYNC}/tests/integration/handlers/test_sync_history.py",
        ),
    ),
    "ingestion_domain": Target(
        (f"{_INGESTION}/src/ingestion/domain/*.py",),
        (f"{_INGESTION}/tests/unit",),
    ),
    "leases": Target(
        (f"{_INGESTION}/src/ingestion/adapters/leases.py",),
        (
            f"{_INGESTION}/tests/integration/adapters/test_leases.py",
            f"{_INGESTION}/tests/integration/adapters/test_rereads.py",
        ),
    ),
}

"""`SyncStates` in memory, for the handlers that only ask it for little."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from mailroom_common.errors import Unavailable
from mailroom_common.events import DocSource
from mailroom_common.providers.ports import ChangeListing
from sync_engine.domain.message_records import FullRound, SyncState


@dataclass
class FakeSyncStates:
    """`failures` of its calls fail first; while it is not reachable all do."""

    is_reachable: bool = True
    failures: int = 0
    ids_marked_full_due: list[str] = field(default_factory=list)
    rests_until: dict[str, datetime] = field(default_factory=dict)
    calls: list[tuple[str, int]] = field(default_factory=list)  # name and version of the source

    async def raise_version_and_read_state(self, source: DocSource) -> SyncState:
        self._record_call("raise_version_and_read_state", source)
        return SyncState(source_state=str(source.state), not_before=self.rests_until.get(source.doc_source_id))

    async def mark_full_due(self, doc_source_ids: Iterable[str]) -> None:
        if not self.is_reachable:
            raise Unavailable("Postgres is away", retry_after_s=0.05)
        self.ids_marked_full_due += doc_source_ids

    async def back_off(
        self,
        source: DocSource,
        *,
        retry_after_s: float | None = None,
        is_throttled: bool = False,
        earlier_failures: int = 0,
    ) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=0.05)

    async def begin_full_round(self, source: DocSource, full_round: FullRound) -> None: ...

    async def record_success(self, source: DocSource, full_round: FullRound | None) -> None: ...

    async def record_grant_refusal(self, source: DocSource, generation: int) -> None: ...

    async def begin_relist(self, source: DocSource, listing: ChangeListing) -> SyncState:
        self._record_call("begin_relist", source)
        return SyncState(source_state=str(source.state), relist_number=source.relist_number)

    async def record_modified_listed_until(self, source: DocSource, until: datetime) -> None: ...

    def _record_call(self, name: str, source: DocSource) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("Postgres is away")
        self.calls.append((name, source.version))

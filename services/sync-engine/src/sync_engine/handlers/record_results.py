"""Closes messages: each taken part gets its result from `ingestion-results`."""

from mailroom_common.events import IngestionResult, ResultStatus
from mailroom_common.kafka.record import IncomingRecord
from sync_engine.ports import ClosesMessages

_UNFINISHED = frozenset({ResultStatus.PENDING, ResultStatus.PROCESSING})


class RecordResults:
    def __init__(self, messages: ClosesMessages) -> None:
        self._messages = messages

    async def handle(self, record: IncomingRecord) -> None:
        result = record.event
        if isinstance(result, IngestionResult) and result.status not in _UNFINISHED:
            await self._messages.record_result(result)

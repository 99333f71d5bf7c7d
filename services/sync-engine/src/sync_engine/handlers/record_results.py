"""Closes messages: each stored part gets its result from `ingestion-results`."""

from mailroom_common.events import IngestionResult, ResultStatus
from mailroom_common.kafka.record import IncomingRecord
from sync_engine.ports import MessageResults

_UNFINISHED = frozenset({ResultStatus.PENDING, ResultStatus.PROCESSING})


class RecordResults:
    def __init__(self, results: MessageResults) -> None:
        self._results = results

    async def handle_record(self, record: IncomingRecord) -> None:
        result = record.event
        if isinstance(result, IngestionResult) and result.status not in _UNFINISHED:
            await self._results.record_result(result)

from typing import Any

from ingestion.adapters.intakes import iterate_intakes


class _Session:
    """Answers as Postgres would, of so many attachments."""

    def __init__(self, count: int) -> None:
        self.rows = [{"seq": number} for number in range(1, count + 1)]
        self.largest_answer = 0

    async def fetch(self, _statement: str, _document_id: str, after: int, limit: int) -> list[dict[str, int]]:
        answer = [row for row in self.rows if row["seq"] > after][:limit]
        self.largest_answer = max(self.largest_answer, len(answer))
        return answer


async def test_each_attachment_is_told_once_and_few_are_in_memory_at_a_time() -> None:
    session: Any = _Session(1001)
    assert [row async for row in iterate_intakes(session, "document")] == session.rows
    assert session.largest_answer <= 500

"""Templates and lessons in Postgres: always of one tenant."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg

from ingestion.domain.document import DocumentId
from ingestion.domain.layout_template import (
    MAX_TEMPLATES,
    TEMPLATE_EVIDENCE,
    LayoutTemplate,
    Lesson,
    StoredTemplate,
    TemplateId,
    compute_marks,
)
from ingestion.domain.review import Decision, HistoryKind
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

_MAX_SIMILAR = 5  # so many are tried on a page
_MAX_ATTEMPTS = 5
_LEASE = timedelta(minutes=2)  # longer than the parser process may take
_RELEASE_PAUSE = timedelta(minutes=1)
# Its fields are exact: there is nothing to learn.
_EXACT_READER = "e-invoice"

_HAS = "select exists (select from ingestion.layout_template where tenant_id = $1)"
# The tenant's few, by its index: no mark is looked up among those of others.
_FIND = """
    select template_id, template from ingestion.layout_template
    where tenant_id = $1 and marks && $2
    order by cardinality(array(select unnest(marks) intersect select unnest($2::bigint[]))) desc, learned_at desc
    limit $3
"""
# A template that is replaced keeps its id: a document that was read by it and is read again says the same then.
_WRITE = """
    insert into ingestion.layout_template (template_id, tenant_id, marks, template, document_id)
    values ($1, $2, $3, $4, $5)
    on conflict (template_id) do update
    set marks = excluded.marks, template = excluded.template, document_id = excluded.document_id, learned_at = now()
    where layout_template.tenant_id = excluded.tenant_id
"""
_DELETE = "delete from ingestion.layout_template where template_id = $1 and tenant_id = $2"
_DELETE_OLDEST = """
    delete from ingestion.layout_template where template_id in (
        select template_id from ingestion.layout_template where tenant_id = $1 order by learned_at desc offset $2)
"""
_REQUEST = """
    insert into ingestion.template_lesson (document_id, tenant_id, version) values ($1, $2, $3)
    on conflict (document_id) do update set version = excluded.version, attempts = 0, next_attempt_at = now()
"""
_CLAIM = """
    update ingestion.template_lesson set attempts = attempts + 1, next_attempt_at = now() + $1::interval
    where document_id = (
        select document_id from ingestion.template_lesson where next_attempt_at <= now() and tenant_id > $2
        order by tenant_id, next_attempt_at limit 1 for update skip locked
    )
    returning *
"""
_RELEASE = """
    update ingestion.template_lesson set attempts = attempts - 1, next_attempt_at = now() + $3::interval
    where document_id = $1 and version = $2
"""
# As it was decided: a later decision is a lesson of its own.
_FIND_DECIDED = """
    select * from ingestion.document
    where document_id = $1 and tenant_id = $2 and result_number = $3 and status = 'completed' and extraction is not null
"""
_FINISH = "delete from ingestion.template_lesson where document_id = $1 and version = $2 returning document_id"


class PgTemplates:
    """`Templates` and `Lessons` of ports/templates.py."""

    def __init__(self, pool: asyncpg.Pool, *, lease: timedelta = _LEASE, max_templates: int = MAX_TEMPLATES) -> None:
        self._pool = pool
        self._lease = lease
        self._max_templates = max_templates
        self._last_tenant = ""

    async def has_templates(self, tenant_id: str) -> bool:
        async with acquire_session(self._pool) as conn:
            has: bool = await conn.fetchval(_HAS, tenant_id)
            return has

    async def find_templates(self, tenant_id: str, features: Sequence[int]) -> Sequence[StoredTemplate]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(_FIND, tenant_id, compute_marks(features), _MAX_SIMILAR)
        return [
            StoredTemplate(TemplateId(row["template_id"]), LayoutTemplate.from_json(row["template"])) for row in rows
        ]

    async def claim_lesson(self) -> Lesson | None:
        async with open_transaction(self._pool) as conn:
            while (claimed := await self._claim_in_turn(conn)) is not None:
                key = (claimed["document_id"], claimed["tenant_id"], claimed["version"])
                document = await conn.fetchrow(_FIND_DECIDED, *key)
                if document is not None and claimed["attempts"] <= _MAX_ATTEMPTS:
                    return _build_lesson(document)
                # Decided otherwise meanwhile, or a lesson that no worker lived through.
                await conn.execute(_FINISH, claimed["document_id"], claimed["version"])
            return None

    async def _claim_in_turn(self, conn: DatabaseSession) -> asyncpg.Record | None:
        """Of the next tenant that has one: who confirms ten thousand documents at once keeps no other waiting."""
        for after in dict.fromkeys((self._last_tenant, "")):
            if (claimed := await conn.fetchrow(_CLAIM, self._lease, after)) is not None:
                self._last_tenant = claimed["tenant_id"]
                return claimed
        return None

    async def release_lesson(self, lesson: Lesson) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_RELEASE, lesson.document_id, lesson.version, _RELEASE_PAUSE)

    async def finish_lesson(
        self, lesson: Lesson, learned: LayoutTemplate | None, *, former: TemplateId | None = None
    ) -> None:
        async with open_transaction(self._pool) as conn:
            finished = await conn.fetchval(_FINISH, lesson.document_id, lesson.version)
            if finished is None or learned is None:
                return  # it was decided again: what it said before teaches nothing
            marks = compute_marks(learned.features)
            template_id = former or str(uuid4())
            await conn.execute(_WRITE, template_id, lesson.tenant_id, marks, learned.to_json(), lesson.document_id)
            await conn.execute(_DELETE_OLDEST, lesson.tenant_id, self._max_templates)


async def apply_decision_to_templates(conn: DatabaseSession, current: Any, decided: Any, decision: Decision) -> None:
    """In the transaction of a decision: drop the template that it contradicts, and ask for another lesson.

    `current` is the document's row as the reviewer saw it, `decided` the row after the decision.
    """
    if Profile(decided["profile"]) is not Profile.INVOICE:
        return
    evidence = (current["extraction"] or {}).get(TEMPLATE_EVIDENCE) or {}
    contradicted = {change.field for change in decision.changes} & set(evidence.get("fields", ()))
    if contradicted:
        await conn.execute(_DELETE, evidence["id"], decided["tenant_id"])
    is_exact = (decided["reader"] or "").startswith(_EXACT_READER)
    if (
        decision.kind is not HistoryKind.REJECTED
        and decided["status"] == ResultStatus.COMPLETED
        and decided["extraction"] is not None
        and not is_exact
    ):
        await conn.execute(_REQUEST, decided["document_id"], decided["tenant_id"], decided["result_number"])


def _build_lesson(document: Any) -> Lesson:
    return Lesson(
        document_id=DocumentId(document["document_id"]),
        tenant_id=document["tenant_id"],
        version=document["result_number"],
        blob_key=document["blob_key"],
        content_sha256=document["content_sha256"],
        document_type=document["document_type"] or "invoice",
        fields=document["extraction"],
    )

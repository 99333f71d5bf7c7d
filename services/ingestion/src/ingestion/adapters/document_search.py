"""The list of documents in Postgres: one statement for the filters that are given, so that each has its index."""

from collections.abc import Iterator
from typing import Any

from ingestion.adapters.duplicate_keys import write_duplicate_key
from ingestion.adapters.supplier_accounts import write_supplier_keys
from ingestion.domain.search_words import build_duplicate_key, build_word_query, list_document_words
from ingestion.ports.documents import DocumentFilter
from mailroom_common.postgres import DatabaseSession

POSSIBLE_DUPLICATES = """
    array(select other.document_id from ingestion.document other
          where other.tenant_id = document.tenant_id and other.duplicate_key = document.duplicate_key
            and other.document_id <> document.document_id
          order by other.seq limit 10) as possible_duplicates
"""
"""Found by their key when they are shown, and not marked: of two that are read at one moment each shows the other."""

LEDGER_STATES = """
    coalesce((select jsonb_agg(jsonb_build_object('id', trade_id, 'state', state, 'duplicate_of', duplicate_of,
                                                  'cancelled_by', cancelled_by, 'cancels', cancels) order by position)
              from ingestion.trade where trade.document_id = document.document_id), '[]') as trades
"""
"""What the ledger makes of a document's trades, in their order: what is read of two documents is not added up twice."""

_WRITE_WORDS = """
    insert into ingestion.document_words (document_id, words) values ($1, array_to_tsvector($2))
    on conflict (document_id) do update set words = excluded.words
"""
_REASON = "coalesce(skip_reason, review_reason)"
_NUMBER = "lower(extraction ->> 'invoice_number')"
_AMOUNT = "ingestion.read_amount(extraction ->> 'total_gross')"
_ISSUED = "(extraction ->> 'issue_date') collate \"C\""
_IS_UNFINISHED = "status in ('pending', 'processing')"
_UNFINISHED = ("pending", "processing")

# Looked for document by document, a page would go through all that have none; counted for each page, through all keys.
_IS_SHARED_KEY = "duplicate_key in (select duplicate_key from ingestion.shared_key where tenant_id = $1)"


class SearchStatement:
    """The text of a statement and its values, which grow together."""

    def __init__(self, tenant_id: str) -> None:
        self.values: list[Any] = [tenant_id]
        self._conditions = ["tenant_id = $1"]

    def require(self, condition: str, value: Any) -> None:
        """`condition` is a text of ours, with `{}` where the value goes."""
        if value is not None:
            self.values.append(value)
            self._conditions.append(condition.format(f"${len(self.values)}"))

    def require_always(self, condition: str) -> None:
        self._conditions.append(condition)

    def build_text(self, limit: int) -> str:
        conditions = " and ".join(self._conditions)
        self.values.append(limit)
        return (
            f"select document.*, coalesce(octet_length(extraction::text), 0) as json_bytes, "  # noqa: S608  # ours
            f"{POSSIBLE_DUPLICATES}, {LEDGER_STATES} from ingestion.document "
            f"where {conditions} order by seq desc limit ${len(self.values)}"
        )


def build_search(tenant_id: str, wanted: DocumentFilter, *, before: int | None, limit: int) -> tuple[str, list[Any]]:
    """The statement for a page, and its values."""
    statement = SearchStatement(tenant_id)
    for condition, value in _list_conditions(tenant_id, wanted):
        statement.require(condition, value)
    if wanted.status in _UNFINISHED:
        statement.require_always(_IS_UNFINISHED)  # says to Postgres which index has them
    if wanted.possible_duplicate is not None:
        statement.require_always(_IS_SHARED_KEY if wanted.possible_duplicate else f"({_IS_SHARED_KEY}) is not true")
    statement.require("seq < {}", before)
    return statement.build_text(limit), statement.values


def _list_conditions(tenant_id: str, wanted: DocumentFilter) -> Iterator[tuple[str, Any]]:
    yield "doc_source_id = {}", wanted.doc_source_id
    yield "status = {}", wanted.status
    yield "content_sha256 = {}", wanted.content_sha256
    yield "profile = {}", wanted.profile
    yield "document_type = {}", wanted.document_type
    yield f"{_REASON} = {{}}", wanted.reason
    yield f"{_NUMBER} = lower({{}}::text)", wanted.number
    yield f"{_AMOUNT} >= {{}}", wanted.amount_from
    yield f"{_AMOUNT} <= {{}}", wanted.amount_to
    yield "extraction ->> 'currency' = {}", wanted.currency
    yield f"{_ISSUED} >= {{}}", None if wanted.issued_from is None else wanted.issued_from.isoformat()
    yield f"{_ISSUED} <= {{}}", None if wanted.issued_to is None else wanted.issued_to.isoformat()
    words = build_word_query(tenant_id, text=wanted.text, supplier=wanted.supplier)
    # A word of many documents is met soon on the way from the newest; a rare one is looked up.
    yield (
        "document_id in (select document_id from ingestion.document_words where words @@ {}::text::tsquery)",
        words,
    )


async def index_document(conn: DatabaseSession, document: Any) -> None:
    """Bring what a document is found by up to date, in the transaction that changed it."""
    words = list_document_words(document["tenant_id"], document["source_metadata"], document["extraction"])
    await conn.execute(_WRITE_WORDS, document["document_id"], words)
    key = build_duplicate_key(document["document_type"], document["extraction"])
    await write_duplicate_key(conn, document, None if document["status"] == "skipped" else key)
    await write_supplier_keys(conn, document)

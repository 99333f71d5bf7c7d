"""The list of documents in Postgres: one statement for the filters that are given, so that each has its index.

Words have steps of their own (`word_search.py`): how many documents have one, Postgres does not know.
"""

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
    insert into ingestion.document_words (document_id, seq, words) values ($1, $2, array_to_tsvector($3))
    on conflict (document_id) do update set seq = excluded.seq, words = excluded.words
    where (document_words.seq, document_words.words) is distinct from (excluded.seq, excluded.words)
"""
_REASON = "coalesce(skip_reason, review_reason)"
_NUMBER = "lower(extraction ->> 'invoice_number')"
_AMOUNT = "ingestion.read_amount(extraction ->> 'total_gross')"
_ISSUED = "(extraction ->> 'issue_date') collate \"C\""
_IS_UNFINISHED = "status in ('pending', 'processing')"
_UNFINISHED = ("pending", "processing")

NEWEST = 2**63 - 1  # no position comes after it

# From the table of those documents in its order: a mark of their own rows could not be written under another's lock.
_IS_SHARED = "seq in (select seq from ingestion.shared_document where tenant_id = $1 and seq < {})"
# Document by document: few are shared, and who asks for the others is not to go through all of those.
_IS_NOT_SHARED = """
    (select seq from ingestion.shared_document shared where shared.tenant_id = $1 and shared.seq = document.seq) is null
"""
# Document by document, since Postgres does not know how many have the words: it is not to go by them where few do not.
_HAS_WORDS = """
    (select words @@ {}::text::tsquery from ingestion.document_words
     where document_words.document_id = document.document_id)
"""


class SearchConditions:
    """Conditions on `ingestion.document` and their values, which grow together: the tenant comes first."""

    def __init__(self, tenant_id: str) -> None:
        self.values: list[Any] = [tenant_id]
        self._conditions = ["tenant_id = $1"]

    def require(self, condition: str, value: Any) -> None:
        """`condition` is a text of ours, with `{}` where the value goes."""
        if value is not None:
            self._conditions.append(condition.format(self.add_value(value)))

    def require_always(self, condition: str) -> None:
        self._conditions.append(condition)

    def add_value(self, value: Any) -> str:
        """How the statement names it."""
        self.values.append(value)
        return f"${len(self.values)}"

    @property
    def is_tenant_alone(self) -> bool:
        return len(self._conditions) == 1

    def build_text(self) -> str:
        return " and ".join(self._conditions)


def build_conditions(tenant_id: str, wanted: DocumentFilter, *, before: int | None) -> SearchConditions:
    """All that is wanted but words."""
    conditions = SearchConditions(tenant_id)
    for condition, value in _list_conditions(wanted):
        conditions.require(condition, value)
    if wanted.status in _UNFINISHED:
        conditions.require_always(_IS_UNFINISHED)  # says to Postgres which index has them
    if wanted.possible_duplicate:
        conditions.require(_IS_SHARED, NEWEST if before is None else before)
    elif wanted.possible_duplicate is not None:
        conditions.require_always(_IS_NOT_SHARED)
    conditions.require("seq < {}", before)
    return conditions


def build_search(tenant_id: str, wanted: DocumentFilter, *, before: int | None, limit: int) -> tuple[str, list[Any]]:
    """The statement for a page, and its values. Words are looked at document by document, from the newest on."""
    conditions = build_conditions(tenant_id, wanted, before=before)
    conditions.require(_HAS_WORDS, build_filter_words(tenant_id, wanted))
    return _build_page(conditions, limit)


def build_selection(tenant_id: str, positions: list[int]) -> tuple[str, list[Any]]:
    """The statement for the documents at these positions."""
    conditions = SearchConditions(tenant_id)
    conditions.require("seq = any ({}::bigint[])", positions)
    return _build_page(conditions, len(positions))


def build_filter_words(tenant_id: str, wanted: DocumentFilter) -> str | None:
    return build_word_query(tenant_id, text=wanted.text, supplier=wanted.supplier)


def has_words(wanted: DocumentFilter) -> bool:
    return wanted.text is not None or wanted.supplier is not None


def build_word_condition(words: str) -> str:
    return _HAS_WORDS.format(words)


def _build_page(conditions: SearchConditions, limit: int) -> tuple[str, list[Any]]:
    text = conditions.build_text()
    statement = (
        f"select document.*, coalesce(octet_length(extraction::text), 0) as json_bytes, "  # noqa: S608  # ours
        f"{POSSIBLE_DUPLICATES}, {LEDGER_STATES} from ingestion.document "
        f"where {text} order by seq desc limit {conditions.add_value(limit)}"
    )
    return statement, conditions.values


def _list_conditions(wanted: DocumentFilter) -> Iterator[tuple[str, Any]]:
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


async def index_document(conn: DatabaseSession, document: Any) -> None:
    """Bring what a document is found by up to date, in the transaction that changed it."""
    words = list_document_words(document["tenant_id"], document["source_metadata"], document["extraction"])
    await conn.execute(_WRITE_WORDS, document["document_id"], document["seq"], words)
    key = build_duplicate_key(document["document_type"], document["extraction"])
    await write_duplicate_key(conn, document, None if document["status"] == "skipped" else key)
    await write_supplier_keys(conn, document)

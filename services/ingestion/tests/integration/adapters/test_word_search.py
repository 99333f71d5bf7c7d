"""Documents by their words, where the stretches of positions that they are looked for in begin and end."""

from collections.abc import Iterator, Mapping

import asyncpg
import pytest
from ingestion_fakes import build_record
from ingestion_site import Ingestion

from ingestion.adapters import word_search
from ingestion.adapters.documents import PgDocumentCatalog
from ingestion.adapters.word_positions import PgWordPositionBackfill
from ingestion.ports.documents import DocumentFilter

pytestmark = pytest.mark.stack

# Beside the ends of stretches of each length, and far apart.
_EDGES = (1 << 10, 1 << 14, 1 << 18, 3 << 18, (5 << 18) + (3 << 14) + (7 << 10))
POSITIONS = sorted({position for edge in _EDGES for position in (edge - 1, edge, edge + 1)} | {5, 40_000, 1_000_000})

_INSERT = """
    insert into ingestion.document (document_id, seq, tenant_id, doc_source_id, profile, content_sha256, content_type,
                                    size_bytes, blob_key, source_metadata, status, next_attempt_at)
    overriding system value
    values ($1, $2, $3, 'source', 'invoice', $1, 'application/pdf', 1, $1, '{}', $4, null)
"""
_INSERT_WORDS = """
    insert into ingestion.document_words (document_id, seq, words) values ($1, $2, array_to_tsvector($3::text[]))
"""


def list_words(number: int) -> Iterator[str]:
    yield "all"
    yield "even" if number % 2 == 0 else "odd"
    if number < 4:
        yield "former"
    if number == len(POSITIONS) - 2:
        yield "once"


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine pages would end short."""
    monkeypatch.setattr(word_search, "_MAX_DURATION_S", 600)


@pytest.fixture
async def documents(pool: asyncpg.Pool) -> Mapping[int, set[str]]:
    """The words of the document at each position; between them lie those of another tenant with all the words."""
    found = {position: set(list_words(number)) for number, position in enumerate(POSITIONS)}
    every = set().union(*found.values())
    for position, words in found.items():
        status = "completed" if position % 3 else "skipped"
        await insert_document(pool, "acme", position, words, status)
        await insert_document(pool, "other", position + 2, every, status)
    return found


async def insert_document(pool: asyncpg.Pool, tenant_id: str, position: int, words: set[str], status: str) -> None:
    document_id = f"{tenant_id}-{position}"
    await pool.execute(_INSERT, document_id, position, tenant_id, status)
    await pool.execute(_INSERT_WORDS, document_id, position, [f"a:{tenant_id}/{word}" for word in words])


async def list_pages(pool: asyncpg.Pool, wanted: DocumentFilter, limit: int) -> list[list[str]]:
    catalog, before, pages = PgDocumentCatalog(pool), None, []
    while True:
        rows, before = await catalog.list_documents("acme", wanted, before=before, limit=limit)
        pages.append([row["id"] for row in rows])
        if before is None:
            return pages


@pytest.mark.parametrize(
    ("few", "most_found", "crowded"),
    [(0, 2000, 64), (0, 1, 64), (0, 2000, 1), (500, 2000, 64)],
    ids=["by stretches", "by shorter ones", "by samples", "one by one"],
)
async def test_words_find_the_documents_that_have_all_of_them_the_newest_first_page_by_page(
    pool: asyncpg.Pool,
    documents: Mapping[int, set[str]],
    few: int,
    most_found: int,
    crowded: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(word_search, "MAX_CHECKED_SINGLY", few)
    monkeypatch.setattr(word_search, "_CROWDED", crowded)
    shortest, *longer = word_search.STEP_SIZES
    sizes = (shortest, *(size._replace(most_found=most_found) for size in longer))
    monkeypatch.setattr(word_search, "STEP_SIZES", sizes)
    for text in ("all", "even", "former", "once", "nowhere", "odd former", "even odd"):
        for status in (None, "completed"):
            expected = [
                f"acme-{position}"
                for position in reversed(POSITIONS)
                if set(text.split()) <= documents[position] and (status is None or position % 3)
            ]
            for limit in (1, 3, 100):
                pages = await list_pages(pool, DocumentFilter(text=text, status=status), limit)
                assert [document for page in pages for document in page] == expected, (text, status, limit)
                assert all(len(page) == limit for page in pages[:-1]), (text, status, limit)


async def test_samples_tell_which_long_stretch_is_crowded_and_none_behind_it(
    pool: asyncpg.Pool, documents: Mapping[int, set[str]]
) -> None:
    numbers = list(range(5, -1, -1))
    rows = await pool.fetch(word_search._FIND_CROWDED, "'a:acme/all'", numbers, 1)
    # At the beginning of each stretch, and at each quarter of it, there are documents, but in the last two.
    assert [row["number"] for row in rows] == [3]
    assert not await pool.fetch(word_search._FIND_CROWDED, "'a:acme/nowhere'", numbers, 1)


async def test_no_step_holds_more_documents_against_the_other_filters_than_its_limit(
    pool: asyncpg.Pool, documents: Mapping[int, set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_search, "MAX_CHECKED_SINGLY", 0)
    monkeypatch.setattr(word_search, "_MAX_CANDIDATES", 2)
    monkeypatch.setattr(word_search, "_MAX_DURATION_S", -1)  # a page is one step
    monkeypatch.setattr(word_search, "STEP_SIZES", (word_search.StepSize(18, 1, 0.0, 1000),))
    pages = await list_pages(pool, DocumentFilter(text="all", profile="invoice"), 9)
    assert {len(page) for page in pages} <= {0, 1, 2}
    assert sum(len(page) for page in pages) == len(POSITIONS)


async def test_words_of_an_earlier_release_are_found_before_and_after_they_have_their_place(
    site: Ingestion, documents: Mapping[int, set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_search, "MAX_CHECKED_SINGLY", 0)
    await site.pool.execute("update ingestion.document_words set seq = null where document_id in ('acme-5', 'other-7')")
    backfill = PgWordPositionBackfill(site.pool, batch=1)
    assert await list_pages(site.pool, DocumentFilter(text="even"), 100) == [
        [f"acme-{position}" for position in POSITIONS[::-1] if "even" in documents[position]]
    ]
    assert [await backfill.write_missing() for _ in range(3)] == [1, 1, 0]
    assert (await list_pages(site.pool, DocumentFilter(text="even"), 100))[0][-1] == "acme-5"


async def test_a_document_that_is_recorded_is_found_by_its_place_at_once(
    site: Ingestion, documents: Mapping[int, set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_search, "MAX_CHECKED_SINGLY", 0)
    record = build_record(b"%PDF- new", message="new", subject="April's steel")
    await site.intakes.record_attachment(record)
    assert not await site.pool.fetchval("select count(*) from ingestion.document_words where seq is null")
    assert await list_pages(site.pool, DocumentFilter(text="steel"), 100) == [[record.attachment_id]]

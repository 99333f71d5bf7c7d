"""Documents by their words, in bounded steps.

Postgres keeps no account of how many documents have a word, but for the most common ones, and none of where those lie.
So no plan is left to what it estimates. Where what else is asked for leaves few documents, their words are looked at.
Otherwise the words are looked up a stretch of positions at a time, from the newest on: what is common is found in the
first, short one, and the longer ones, which follow where little was found, have few that have the words, or are cut.
"""

from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

from ingestion.adapters.document_search import (
    NEWEST,
    SearchConditions,
    build_conditions,
    build_filter_words,
    build_word_condition,
)
from ingestion.ports.documents import DocumentFilter
from mailroom_common.postgres import DatabaseSession


class StepSize(NamedTuple):
    """`bits` are those of a position that differ within a stretch, as `ingestion.list_seq_buckets` has them, and
    `stretches` is how many a step takes: many where little was found in all before. A step of this size follows one
    that took less than `after_less_than_s` seconds, since each is 16 times as long as the one before."""

    bits: int
    stretches: int
    after_less_than_s: float


STEP_SIZES = (StepSize(10, 1, 0.0), StepSize(14, 1, 0.06), StepSize(18, 1, 0.06), StepSize(18, 16, 0.015))

MAX_CHECKED_SINGLY = 500  # documents whose words are looked at one by one
_MAX_CANDIDATES = 1000  # documents of one step that have the words and are held against the other filters
# Then a page ends short: two words of half the documents each, of which none has both, cost seconds.
_MAX_DURATION_S = 1.0

_PROBE = """
    select exists (select from ingestion.document_words where seq is null) as has_unplaced,
           (select max(seq) from ingestion.document where tenant_id = $1) as newest,
           (select min(seq) from ingestion.document where tenant_id = $1) as oldest,
           array(select seq from ingestion.document where {conditions} order by seq desc limit {most}) as singly
"""
_CHECK_SINGLY = f"""
    select seq from ingestion.document
    where tenant_id = $1 and seq = any ($2::bigint[]) and {build_word_condition("$3")} order by seq desc limit $4
"""  # noqa: S608  # ours
# The words carry their tenant. As an array, so that they are looked up by it whatever Postgres makes of their number.
_STEP = """
    with found as materialized (
        select in_stretch.seq from unnest({buckets}::bigint[]) bucket cross join lateral (
            select seq from ingestion.document_words
            where words @@ {words}::text::tsquery and ingestion.list_seq_buckets(seq) @> array[bucket]
              and seq < {before}
            order by seq desc limit {most}) in_stretch
        limit {most})
    select array(select seq from found order by seq desc) as candidates,
           array(select seq from ingestion.document
                 where {conditions} and seq = any (array(select seq from found)) order by seq desc) as matches
"""


@dataclass(frozen=True, slots=True)
class WordMatches:
    """`positions` of documents, the newest first. `next_before` is where the next page begins: documents before it were
    not looked at; None: all were."""

    positions: list[int]
    next_before: int | None


async def find_word_matches(
    conn: DatabaseSession, tenant_id: str, wanted: DocumentFilter, *, before: int | None, limit: int
) -> WordMatches | None:
    """The first `limit` positions. None where words are without their position, and have to be looked for otherwise."""
    words = build_filter_words(tenant_id, wanted)
    assert words is not None  # noqa: S101  # the caller asks where there are some
    conditions = build_conditions(tenant_id, wanted, before=before)
    statement = _PROBE.format(conditions=conditions.build_text(), most=conditions.add_value(MAX_CHECKED_SINGLY + 1))
    (probe,) = await conn.fetch(statement, *conditions.values)
    if probe["has_unplaced"]:
        return None
    if len(probe["singly"]) <= MAX_CHECKED_SINGLY:
        rows = await conn.fetch(_CHECK_SINGLY, tenant_id, probe["singly"], words, limit + 1)
        return _cut_matches([row["seq"] for row in rows], limit)
    start = min(probe["newest"] + 1, NEWEST if before is None else before)
    unbounded = build_conditions(tenant_id, wanted, before=None)  # where a stretch begins and ends, each step says
    return await _walk_stretches(conn, unbounded, words, limit, start, probe["oldest"])


async def _walk_stretches(
    conn: DatabaseSession, conditions: SearchConditions, words: str, limit: int, before: int, oldest: int
) -> WordMatches:
    """From `before` down to `oldest`, until enough are found or it took long enough: a step at least."""
    positions: list[int] = []
    level, last_level, began = 0, len(STEP_SIZES) - 1, monotonic()
    statement, values = build_step(conditions), conditions.values
    while before > oldest and len(positions) < limit:
        bits, stretches, _ = STEP_SIZES[level]
        most = limit - len(positions) if conditions.is_tenant_alone else _MAX_CANDIDATES
        newest = (before - 1) >> bits
        numbers = range(newest, max(newest - stretches, (oldest >> bits) - 1), -1)
        step_began = monotonic()
        (step,) = await conn.fetch(statement, *values, words, [bits << 56 | number for number in numbers], before, most)
        took_s = monotonic() - step_began
        candidates = step["candidates"]
        is_cut = len(candidates) == most  # many have the words here
        if is_cut and len(numbers) > 1:
            # In which of the stretches, and whether in the newest, is not known: from here on one at a time.
            level = last_level = level - 1
        elif is_cut:
            positions += step["matches"]
            before, level = candidates[-1], 0
        else:
            positions += step["matches"]
            before = numbers[-1] << bits
            level += level < last_level and took_s < STEP_SIZES[level + 1].after_less_than_s
        if monotonic() - began > _MAX_DURATION_S:
            break
    return _cut_matches(positions, limit, next_before=before if before > oldest else None)


def _cut_matches(positions: list[int], limit: int, *, next_before: int | None = None) -> WordMatches:
    return WordMatches(positions[:limit], positions[limit - 1] if len(positions) > limit else next_before)


def build_step(conditions: SearchConditions) -> str:
    """With the values of the conditions, and behind them words, buckets, position and number of candidates."""
    first = len(conditions.values) + 1
    words, buckets, before, most = (f"${number}" for number in range(first, first + 4))
    return _STEP.format(conditions=conditions.build_text(), words=words, buckets=buckets, before=before, most=most)

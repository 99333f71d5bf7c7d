"""Documents by their words, in bounded steps.

Postgres keeps no account of how many documents have a word, but for the most common ones, and none of where those lie.
So no plan is left to what it estimates. Where what else is asked for leaves few documents, their words are looked at.
Otherwise the words are looked up a stretch of positions at a time, from the newest on: what is common is found in the
first, short one, and the longer ones, which follow where little was found, have few that have the words, or are left
for shorter ones.
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
    that took less than `after_less_than_s` seconds, since each is 16 times as long as the one before. Of more than
    `most_found` documents that have the words nothing is used, and shorter steps follow: to know the newest of those
    that a supplier sent in one year, all of them would be fetched and sorted."""

    bits: int
    stretches: int
    after_less_than_s: float
    most_found: int


STEP_SIZES = (
    StepSize(10, 1, 0.0, 1 << 10),
    StepSize(14, 1, 0.06, 1 << 14),
    StepSize(18, 1, 0.06, 2000),
    StepSize(18, 16, 0.015, 2000),
)

_LONG_BITS = 18
_LEVEL_WITHIN_LONG = 1
# A word's documents within a stretch are all fetched before the first is known, so before a long one is, samples of it
# are counted: four of its shortest stretches, at equal distances. A supplier's year is longer than those.
_SAMPLES = 4
_CROWDED = 64  # documents in the samples: about 4,000 of the stretch

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
# The limit stands outside: with one inside Postgres goes through the table where it expects to meet enough soon. Rows
# are fetched as they are asked for, so not more than that all the same.
_STEP = """
    with in_stretches as materialized (
        select in_stretch.seq from unnest({buckets}::bigint[]) bucket cross join lateral (
            select seq from ingestion.document_words
            where words @@ {words}::text::tsquery and ingestion.list_seq_buckets(seq) @> array[bucket]
              and seq < {before}
            offset 0) in_stretch),
    found as materialized (select seq from in_stretches limit {most_found} + 1),
    candidate as materialized (
        select seq from found where (select count(*) from found) <= {most_found} order by seq desc limit {most})
    select (select count(*) from found) > {most_found} as is_overfull,
           array(select seq from candidate order by seq desc) as candidates,
           array(select seq from ingestion.document
                 where {conditions} and seq = any (array(select seq from candidate)) order by seq desc) as matches
"""
# The first that is crowded, and none behind it is looked at. No limit within: with one Postgres goes through the table
# where it expects to meet enough soon.
_FIND_CROWDED = f"""
    select number from unnest($2::bigint[]) number
    where (select count(*) from ingestion.document_words sampled
           where words @@ $1::text::tsquery and ingestion.list_seq_buckets(seq) && array(
               select 10::bigint << 56 | (number << {_LONG_BITS - 10}) + place * {(1 << _LONG_BITS - 10) // _SAMPLES}
               from generate_series(0, {_SAMPLES - 1}) place)) >= $3
    limit 1
"""  # noqa: S608  # ours


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
    level, began = 0, monotonic()
    overfull: list[tuple[int, int]] = []  # down to which position, and up to which level, steps are shorter
    statement, values = build_step(conditions), conditions.values
    while before > oldest and len(positions) < limit:
        bits, stretches, _, most_found = STEP_SIZES[level]
        most = limit - len(positions) if conditions.is_tenant_alone else _MAX_CANDIDATES
        newest = (before - 1) >> bits
        numbers = range(newest, max(newest - stretches, (oldest >> bits) - 1), -1)
        if bits == _LONG_BITS and (crowded := await _find_crowded(conn, words, numbers)) is not None:
            if crowded == newest:
                level = _LEVEL_WITHIN_LONG
                overfull.append((crowded << bits, level))
                continue
            numbers = range(newest, crowded, -1)
        buckets = [bits << 56 | number for number in numbers]
        step_began = monotonic()
        (step,) = await conn.fetch(statement, *values, words, buckets, before, most, most_found)
        took_s = monotonic() - step_began
        candidates = step["candidates"]
        if step["is_overfull"]:
            # Where in these stretches, is not known: shorter steps through all of them. One alone would be the same.
            level = min(level - 1, _LEVEL_WITHIN_LONG) if len(numbers) == 1 else level - 1
            overfull.append((numbers[-1] << bits, level))
            continue
        positions += step["matches"]
        if len(candidates) == most:  # many have the words here
            before, level = candidates[-1], 0
        else:
            before = numbers[-1] << bits
            level += took_s < STEP_SIZES[min(level + 1, len(STEP_SIZES) - 1)].after_less_than_s
        while overfull and before <= overfull[-1][0]:
            overfull.pop()
        level = min(level, overfull[-1][1] if overfull else len(STEP_SIZES) - 1)
        if monotonic() - began > _MAX_DURATION_S:
            break
    return _cut_matches(positions, limit, next_before=before if before > oldest else None)


async def _find_crowded(conn: DatabaseSession, words: str, numbers: range) -> int | None:
    """The first of long stretches in which very many documents have the words, as far as samples tell."""
    rows = await conn.fetch(_FIND_CROWDED, words, list(numbers), _CROWDED)
    return rows[0]["number"] if rows else None


def _cut_matches(positions: list[int], limit: int, *, next_before: int | None = None) -> WordMatches:
    return WordMatches(positions[:limit], positions[limit - 1] if len(positions) > limit else next_before)


def build_step(conditions: SearchConditions) -> str:
    """With the values of the conditions, and behind them words, buckets, position, most candidates and most found."""
    first = len(conditions.values) + 1
    names = ("words", "buckets", "before", "most", "most_found")
    values = {name: f"${number}" for number, name in enumerate(names, start=first)}
    # Types are said once for each: of a value in a sum or a comparison Postgres would guess another one.
    values["most_found"] += "::bigint"
    return _STEP.format(conditions=conditions.build_text(), **values)

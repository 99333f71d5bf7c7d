"""A statement in the ledger, and those that are of one trade."""

from dataclasses import dataclass, field

from ingestion.domain.trade_matching import Similarity, StatedTrade


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(StatedTrade):
    """A trade of a document. `confirmed_seq` is its place among confirmed ones, None where a person has still to look
    at its document; `seq` its place among all. `same_as` and `distinct_from` are other entries, as people decided: of a
    cancellation, those that it takes back, and those that it does not."""

    trade_id: str
    document_id: str
    seq: int
    confirmed_seq: int | None
    same_as: frozenset[str] = frozenset()
    distinct_from: frozenset[str] = frozenset()

    @property
    def is_confirmed(self) -> bool:
        return self.confirmed_seq is not None

    @property
    def rank(self) -> tuple[bool, int, int]:
        """What counts already goes on counting, whatever is read later: so confirmed ones are first."""
        return (self.confirmed_seq is None, self.confirmed_seq or 0, self.seq)

    @property
    def isin(self) -> str | None:
        return self.trade.isin.upper() if self.trade.isin else None


@dataclass(slots=True)
class StatementGroup:
    """Statements of one trade, or of one cancellation, with one `build_match_key`. The first one counts."""

    key: str
    members: list[LedgerEntry] = field(default_factory=list)
    similarity: dict[str, Similarity] = field(default_factory=dict)
    isins: set[str | None] = field(default_factory=set)  # of its members; None: one of them names none

    @property
    def first(self) -> LedgerEntry:
        return self.members[0]

    @property
    def document_ids(self) -> set[str]:
        return {member.document_id for member in self.members}

    def add(self, entry: LedgerEntry, similarity: Similarity | None = None) -> None:
        """`similarity` is that to the members before it."""
        self.members.append(entry)
        self.isins.add(entry.isin)
        if similarity is not None:
            self.similarity[entry.trade_id] = similarity


def are_decided_same(one: LedgerEntry, other: LedgerEntry) -> bool:
    return other.trade_id in one.same_as or one.trade_id in other.same_as


def are_decided_distinct(one: LedgerEntry, other: LedgerEntry) -> bool:
    return other.trade_id in one.distinct_from or one.trade_id in other.distinct_from

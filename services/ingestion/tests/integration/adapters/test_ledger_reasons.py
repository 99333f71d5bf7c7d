"""Documents in review for what other documents state, once that is no reason any more, on a real database."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from ingestion_site import SCHEMA, Ingestion, utc_now
from stated_trades import NOTE, finish, outcome_of

from ingestion.adapters import trade_checks
from ingestion.adapters.ledger_reasons import PgLedgerReasons
from ingestion.adapters.trades import PgTradeLedger
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.review import ReviewAction
from ingestion.domain.trade import ACTIVITY_STATEMENT, Direction
from ingestion.ports.trades import TradeDecision
from mailroom_common.errors import Retryable, Unavailable
from mailroom_common.events import ResultStatus
from mailroom_common.outbox import Outbox

pytestmark = pytest.mark.stack


def open_reasons(site: Ingestion, *, rest: timedelta = timedelta(0)) -> PgLedgerReasons:
    return PgLedgerReasons(site.pool, Outbox(SCHEMA, site.codec), utc_now, rest=rest)


def take_back(reference: str, **changed: Any) -> DocumentOutcome:
    """A corrected note, which says that it takes the place of the one with that number."""
    made = replace(NOTE, reference=f"K-{reference}", quantity=Decimal(18), **changed)
    taking = replace(made, reference=reference, is_cancellation=True, price=None, settled_amount=None)
    return outcome_of(made, taking, status=ResultStatus.NEEDS_REVIEW)


async def describe(site: Ingestion, document_id: str) -> tuple[str, str | None, list[str]]:
    document = await site.document(document_id)
    rows = await site.pool.fetch(
        "select state from ingestion.trade where document_id = $1 order by position", document_id
    )
    return document["status"], document["review_reason"], [row["state"] for row in rows]


async def decide_taken(site: Ingestion, correction: str, former: str, *, is_same: bool) -> None:
    """A person says whether this is the trade that the correction takes back."""
    rows = await site.pool.fetch(
        "select trade_id, version from ingestion.trade where document_id = any($1) order by is_cancellation desc",
        [correction, former],
    )
    taking = rows[0]
    taken = await site.pool.fetchval("select trade_id from ingestion.trade where document_id = $1", former)
    decision = TradeDecision(
        is_same=is_same, other_trade_id=taken, version=taking["version"], comment=None, reviewer="anna", api_key_id="00"
    )
    assert await PgTradeLedger(site.pool).decide_trade("acme", taking["trade_id"], decision)


async def test_the_trades_of_a_busy_day_count_once_it_is_known_which_of_them_was_taken_back(site: Ingestion) -> None:
    correction, reasons = await finish(site, "correction", take_back("R-1001")), open_reasons(site)
    await site.decide_document(correction, ReviewAction.CONFIRM)
    held = [await finish(site, name, outcome_of(replace(NOTE, reference=name))) for name in ("ORDER-77", "ORDER-78")]
    assert not await reasons.recheck_some()
    for document in held:
        assert await describe(site, document) == ("needs_review", "trade_may_be_cancelled", ["unconfirmed"])
    await decide_taken(site, correction, held[0], is_same=True)
    async with site.pool.acquire() as conn, conn.transaction():
        await conn.execute("select from ingestion.document where document_id = $1 for update", held[1])
        assert await reasons.recheck_some()
        # Whoever holds a document finishes or decides it, and is not waited for.
        assert (await describe(site, held[1]))[0] == "needs_review"
    assert await reasons.recheck_some()
    assert not await reasons.recheck_some()
    assert await describe(site, held[0]) == ("completed", None, ["cancelled"])
    assert await describe(site, held[1]) == ("completed", None, ["counted"])
    kept = await site.pool.fetch("select version, kind, reason from ingestion.document_history order by entry_id")
    assert [tuple(row) for row in kept][-2:] == [(1, "read", "trade_may_be_cancelled")] * 2
    assert [(one.document_id, str(one.status)) for one in await site.results()][-2:] == [
        (document, "completed") for document in held
    ]


async def test_a_cancellation_whose_trade_came_later_no_longer_says_that_it_was_not_found(site: Ingestion) -> None:
    correction, reasons = await finish(site, "correction", take_back("R-1001")), open_reasons(site)
    assert (await describe(site, correction))[1] == "cancelled_trade_not_found"
    await finish(site, "former", outcome_of(NOTE))
    assert await reasons.recheck_some()
    assert await describe(site, correction) == ("needs_review", "trade_cancelled", ["unconfirmed", "cancellation"])
    assert not await reasons.recheck_some()


async def test_a_cancellation_that_came_in_two_mailboxes_is_confirmed_once(site: Ingestion) -> None:
    await finish(site, "former", outcome_of(NOTE))
    taking = replace(NOTE, is_cancellation=True)
    read = outcome_of(taking, status=ResultStatus.NEEDS_REVIEW)
    first = await finish(site, "storno", read)
    copies = [await finish(site, "storno", read, source=f"source-{number}") for number in (2, 3, 4)]
    other = await finish(site, "storno", read, source="source-9", tenant="globex")
    await site.decide_document(copies[2], ReviewAction.REJECT)
    read_otherwise = replace(read, extraction={"trades": [replace(taking, quantity=Decimal(7)).to_json()]})
    odd = await finish(site, "storno", read_otherwise, source="source-5")
    await site.decide_document(first, ReviewAction.CONFIRM)
    states = [(await site.document(one))["status"] for one in (first, *copies, other, odd)]
    assert states == ["completed", "completed", "completed", "skipped", "needs_review", "needs_review"]
    comments = await site.pool.fetch("select comment from ingestion.document_history where kind = 'confirmed'")
    assert [row["comment"] for row in comments] == [None] + [f"(the same file as document {first})"] * 2
    # It takes back one trade, as it did.
    taken = await site.pool.fetch("select state from ingestion.trade where document_id = any($1)", [first, *copies[:2]])
    assert {row["state"] for row in taken} == {"cancellation"}


async def test_the_first_of_two_cancellations_of_a_trade_keeps_its_place_when_it_is_judged_again(
    site: Ingestion,
) -> None:
    """Judged as the last one, it would mean another trade, and be judged so for ever."""
    reasons, storno = open_reasons(site), []
    for number in ("STORNO-1", "STORNO-2"):
        taking = replace(NOTE, reference=number, is_cancellation=True)
        storno.append(await finish(site, number, outcome_of(taking, status=ResultStatus.NEEDS_REVIEW)))
    await finish(site, "note", outcome_of(NOTE))
    assert await reasons.recheck_some()
    assert not await reasons.recheck_some()
    assert [(await describe(site, document))[1] for document in storno] == [
        "trade_cancelled",
        "cancelled_trade_not_found",
    ]


async def test_a_reason_that_stands_under_the_lock_of_the_ledger_ends_the_round(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the workers would judge the same document again at once, and for ever."""
    await finish(site, "correction", take_back("R-1001"))

    async def seem_obsolete(*_values: Any) -> bool:
        return True

    monkeypatch.setattr("ingestion.adapters.ledger_reasons.is_reason_obsolete", seem_obsolete)
    assert not await open_reasons(site).recheck_some()


async def test_notes_count_once_the_statement_that_may_sum_them_up_was_rejected(site: Ingestion) -> None:
    whole = replace(outcome_of(replace(NOTE, reference=None)), document_type=ACTIVITY_STATEMENT)
    statement, reasons = await finish(site, "statement", whole), open_reasons(site)
    note = await finish(site, "note", outcome_of(replace(NOTE, quantity=Decimal(4))))
    assert await describe(site, note) == ("needs_review", "trades_may_be_summed", ["unconfirmed"])
    assert not await reasons.recheck_some()
    await site.decide_document(statement, ReviewAction.REJECT)
    assert await reasons.recheck_some()
    assert await describe(site, note) == ("completed", None, ["counted"])


async def test_a_document_for_which_there_is_another_reason_now_says_that_one(site: Ingestion) -> None:
    correction, reasons = await finish(site, "correction", take_back("R-1001")), open_reasons(site)
    held = await finish(site, "held", outcome_of(replace(NOTE, reference="ORDER-77")))
    listed = replace(NOTE, reference=None, quantity=Decimal(25), isin="DE0008404005")
    statement = replace(outcome_of(listed), document_type=ACTIVITY_STATEMENT)
    other = await finish(site, "statement", statement)
    await site.decide_document(other, ReviewAction.CONFIRM)
    await site.decide_document(correction, ReviewAction.REJECT)
    assert await reasons.recheck_some()
    assert await describe(site, held) == ("needs_review", "trades_may_be_summed", ["unconfirmed"])


async def test_a_cancellation_is_looked_for_among_those_of_its_security_however_many_others_there_are(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trade_checks, "_MAX_UNMATCHED", 1)
    await finish(site, "correction", take_back("R-1001"))
    await finish(site, "of another security", take_back("R-2002", isin="US0378331005"))
    note = await finish(site, "note", outcome_of(replace(NOTE, reference="ORDER-77")))
    assert (await describe(site, note))[1] == ReviewReason.TRADE_MAY_BE_CANCELLED


async def test_documents_that_wait_are_gone_through_some_at_a_time(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.adapters.ledger_reasons._BATCH", 1)
    correction, reasons = await finish(site, "correction", take_back("R-1001")), open_reasons(site)
    await site.decide_document(correction, ReviewAction.CONFIRM)
    held = [await finish(site, name, outcome_of(replace(NOTE, reference=name))) for name in ("ORDER-77", "ORDER-78")]
    assert [await reasons.recheck_some() for _ in range(3)] == [True, True, False]  # each, and the end
    await decide_taken(site, correction, held[0], is_same=True)
    assert [await reasons.recheck_some() for _ in range(3)] == [True, True, False]
    assert [(await describe(site, document))[0] for document in held] == ["completed"] * 2


async def test_a_reading_that_fails_brings_no_reason_back_that_was_lost_while_it_was_under_way(site: Ingestion) -> None:
    correction, reasons = await finish(site, "correction", take_back("R-1001")), open_reasons(site)
    await site.decide_document(correction, ReviewAction.CONFIRM)
    held = await finish(site, "held", outcome_of(replace(NOTE, reference="ORDER-77")))
    await site.rereads.request_document("acme", held, "replay-1")
    reread = await site.claim_document()
    await decide_taken(site, correction, held, is_same=False)
    assert await reasons.recheck_some()
    assert reread.former is not None
    failed = DocumentOutcome(status=ResultStatus.FAILED, reason=ReviewReason.INTERNAL_ERROR)
    assert await site.leases.finish_document(reread, reread.former, failed=failed)
    assert await describe(site, held) == ("completed", None, ["counted"])


async def test_of_many_workers_one_goes_through_the_documents_that_wait(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or fifty workers would look at each of them fifty times a minute."""
    looked_at: list[str] = []

    async def look(_conn: Any, document: Any) -> bool:
        looked_at.append(document["document_id"])
        return False

    monkeypatch.setattr("ingestion.adapters.ledger_reasons.is_reason_obsolete", look)
    monkeypatch.setattr("ingestion.adapters.ledger_reasons._BATCH", 1)
    held = [await finish(site, name, take_back(f"R-{name}")) for name in ("one", "two")]
    workers = [open_reasons(site, rest=timedelta(hours=1)) for _ in range(3)]
    assert [await worker.recheck_some() for worker in workers] == [True, True, False]  # each a batch, and the end
    assert not any([await worker.recheck_some() for worker in workers])
    assert looked_at == held
    await site.pool.execute("update ingestion.document_check set round_ended_at = now() - interval '1 hour'")
    assert await workers[2].recheck_some()
    assert looked_at == [*held, held[0]]


async def test_a_reason_stays_where_more_trades_are_beside_it_than_are_looked_at(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What gave it may be among the others: completed by itself, the trade would count twice."""
    whole = replace(outcome_of(replace(NOTE, reference=None)), document_type=ACTIVITY_STATEMENT)
    await finish(site, "statement", whole)
    note = await finish(site, "note", outcome_of(replace(NOTE, quantity=Decimal(4))))
    await finish(site, "later", outcome_of(replace(NOTE, quantity=Decimal(70), direction=Direction.SELL)))
    monkeypatch.setattr(trade_checks, "_MAX_TRADES_OF_DAYS", 1)  # the later one
    assert not await open_reasons(site).recheck_some()
    assert (await describe(site, note))[:2] == ("needs_review", "trades_may_be_summed")


@pytest.mark.parametrize("error", [ValueError("of a newer build"), Unavailable("the ledger is busy")])
async def test_a_document_that_cannot_be_judged_now_holds_up_none_behind_it(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    correction, reasons = await finish(site, "correction", take_back("R-1001")), open_reasons(site)
    held = [await finish(site, name, outcome_of(replace(NOTE, reference=name))) for name in ("ORDER-77", "ORDER-78")]
    await site.decide_document(correction, ReviewAction.REJECT)
    judge = trade_checks.is_reason_obsolete

    async def fail_once(conn: Any, document: Any) -> bool:
        if document["document_id"] == held[0]:
            raise error
        return await judge(conn, document)

    monkeypatch.setattr("ingestion.adapters.ledger_reasons.is_reason_obsolete", fail_once)
    if isinstance(error, Retryable):
        with pytest.raises(Unavailable):  # Postgres may be away, so the loop makes a pause
            await reasons.recheck_some()
    else:
        assert await reasons.recheck_some()
    assert [(await describe(site, document))[0] for document in held] == ["needs_review", "completed"]


async def test_a_trade_counts_once_a_person_says_that_the_cancellation_means_another_one(site: Ingestion) -> None:
    correction, reasons = await finish(site, "correction", take_back("R-1001")), open_reasons(site)
    await site.decide_document(correction, ReviewAction.CONFIRM)
    held = await finish(site, "held", outcome_of(replace(NOTE, reference="ORDER-77")))
    assert not await reasons.recheck_some()
    await decide_taken(site, correction, held, is_same=False)
    assert await reasons.recheck_some()
    assert await describe(site, held) == ("completed", None, ["counted"])

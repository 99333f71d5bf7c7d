"""How a message is named and claimed in the table shared with the outside job; the table itself is a fake."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest
from sync_harness import doc_source

from mailroom_common.errors import Rejected
from mailroom_common.events import DocSource, Profile
from mailroom_common.providers.types import Mailbox, MessageSummary
from sync_engine.domain.ingestion_state import ClaimOutcome, StateIdForm
from sync_engine.domain.run_outcomes import ClaimedByOtherJob, DoneByOtherJob
from sync_engine.handlers.claim_messages import ClaimMessages
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import IngestionStates

MAIL = MessageSummary(message_id="m1", subject="Note\0")


@dataclass
class FakeStates:
    outcome: ClaimOutcome = ClaimOutcome.OURS
    recorded: dict[str, str] = field(default_factory=dict)
    claimed: list[tuple[str, str | None]] = field(default_factory=list)

    async def find_state_ids(self, _doc_source_id: str, message_ids: Collection[str]) -> Mapping[str, str]:
        return {key: name for key, name in self.recorded.items() if key in message_ids}

    async def claim_message(self, _source: DocSource, summary: MessageSummary, state_id: str) -> ClaimOutcome:
        self.claimed.append((state_id, summary.subject))
        return self.outcome


class Translator:
    """Translates no id that begins with `gone`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def translate_ids(self, _mailbox: Mailbox, message_ids: Sequence[str]) -> Mapping[str, str]:
        self.asked += message_ids
        return {key: f"other-{key}" for key in message_ids if not key.startswith("gone")}


def build_claims(states: FakeStates, form: StateIdForm = StateIdForm.DEFAULT) -> ClaimMessages:
    return ClaimMessages(cast("IngestionStates", states), id_form=form)


def build_run(provider: Translator, profile: Profile = Profile.CONTRACT_NOTE) -> SyncRun:
    source = doc_source(profile=profile)
    run = SimpleNamespace(source=source, doc_source_id=source.doc_source_id, provider=provider, mailbox=None)
    return cast("SyncRun", run)


async def test_only_messages_without_a_recorded_name_are_translated() -> None:
    translator = Translator()
    claims = build_claims(FakeStates(recorded={"m1": "first-m1"}))
    names = await claims.find_state_ids(build_run(translator), ["m1", "m2", "gone-3"])
    assert names == {"m1": "first-m1", "m2": "other-m2"}
    assert translator.asked == ["m2", "gone-3"]


async def test_a_message_of_another_profile_is_neither_named_nor_claimed() -> None:
    translator, states = Translator(), FakeStates()
    run = build_run(translator, Profile.INVOICE)
    assert await build_claims(states).find_state_ids(run, ["m1"]) == {}
    assert await build_claims(states).claim_message(run, MAIL, {}) is None
    assert (translator.asked, states.claimed) == ([], [])


async def test_a_name_that_the_table_cannot_hold_is_not_claimed() -> None:
    states, run, long_id = FakeStates(), build_run(Translator()), "m" * 256
    claims = build_claims(states, StateIdForm.IMMUTABLE)
    names = await claims.find_state_ids(run, [long_id])
    assert await claims.claim_message(run, MessageSummary(message_id=long_id), names) is None
    assert states.claimed == []


async def test_a_message_that_has_no_name_is_not_read_unclaimed() -> None:
    with pytest.raises(Rejected, match="MAILROOM_STATE_ID_FORM"):
        await build_claims(FakeStates()).claim_message(build_run(Translator()), MAIL, {})


async def test_a_claim_stores_no_text_that_cannot_be_stored() -> None:
    states = FakeStates()
    assert await build_claims(states).claim_message(build_run(Translator()), MAIL, {"m1": "x"}) == "x"
    assert states.claimed == [("x", "Note\ufffd")]


@pytest.mark.parametrize(
    ("outcome", "error"), [(ClaimOutcome.TAKEN, ClaimedByOtherJob), (ClaimOutcome.DONE, DoneByOtherJob)]
)
async def test_what_another_job_has_is_not_ours(outcome: ClaimOutcome, error: type[Exception]) -> None:
    with pytest.raises(error):
        await build_claims(FakeStates(outcome)).claim_message(build_run(Translator()), MAIL, {"m1": "x"})

"""Claims a message of a `contract_note` source before its parts are opened, so that no outside job reads it as well."""

from collections.abc import Mapping, Sequence

from mailroom_common.errors import Rejected
from mailroom_common.events import Profile
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.ingestion_state import MAX_STATE_ID_CHARACTERS, ClaimOutcome, StateIdForm
from sync_engine.domain.run_outcomes import ClaimedByOtherJob, DoneByOtherJob
from sync_engine.domain.untrusted_text import clean_summary
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import IngestionStates


class ClaimMessages:
    def __init__(self, states: IngestionStates, *, id_form: StateIdForm) -> None:
        self._states = states
        self._id_form = id_form

    async def find_state_ids(self, run: SyncRun, message_ids: Sequence[str]) -> Mapping[str, str]:
        """By message id; empty for a source that no outside job reads. What was recorded first stays, and an empty name
        is one that the table cannot hold.

        Raises what the provider's call raises.
        """
        if not _is_shared(run) or not message_ids:
            return {}
        known = await self._states.find_state_ids(run.doc_source_id, message_ids)
        unknown = [message_id for message_id in message_ids if message_id not in known]
        names = await self._name_messages(run, unknown)
        return {**known, **{key: name if len(name) <= MAX_STATE_ID_CHARACTERS else "" for key, name in names.items()}}

    async def _name_messages(self, run: SyncRun, message_ids: Sequence[str]) -> Mapping[str, str]:
        if self._id_form is StateIdForm.IMMUTABLE or not message_ids:
            return {message_id: message_id for message_id in message_ids}
        return await run.provider.translate_ids(run.mailbox, message_ids)

    async def claim_message(self, run: SyncRun, summary: MessageSummary, state_ids: Mapping[str, str]) -> str | None:
        """The message's state id; None where it is not shared.

        Raises:
            ClaimedByOtherJob: try again later.
            DoneByOtherJob: nothing is left to do.
            Rejected: it has no name that the outside job would know it by.
        """
        if not _is_shared(run):
            return None
        state_id = state_ids.get(summary.message_id)
        if state_id is None:
            raise Rejected("the provider does not translate its id to the form that MAILROOM_STATE_ID_FORM asks for")
        if not state_id:
            return None  # so that no other job can have claimed it there
        match await self._states.claim_message(run.source, clean_summary(summary), state_id):
            case ClaimOutcome.TAKEN:
                raise ClaimedByOtherJob
            case ClaimOutcome.DONE:
                raise DoneByOtherJob(state_id)
        return state_id


def _is_shared(run: SyncRun) -> bool:
    return run.source.profile is Profile.CONTRACT_NOTE

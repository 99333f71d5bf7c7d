"""Which documents a language model helps with: by tenant and profile, and for what."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.transcript import Transcript
from mailroom_common.events import Profile, ResultStatus

ANY_TENANT = "*"


class ModelTask(StrEnum):
    CLASSIFY = "classify"  # whether it is one of its profile is asked of each document
    EXTRACT = "extract"  # its fields are asked of each invoice or note
    UNSURE = "unsure"  # fields are asked where the local reader leaves an invoice or note to a person
    OFF = "off"  # for a tenant that is not to have what `*` says


@dataclass(frozen=True, slots=True)
class ModelUses:
    """What is asked of the model. A tenant's own entries go before those of `*`."""

    by_tenant: Mapping[tuple[str, Profile], frozenset[ModelTask]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "ModelUses":
        """`tenant:profile:task`, with commas between.

        Raises:
            ValueError: an entry is none, or asks for what no model reads.
        """
        found: dict[tuple[str, Profile], frozenset[ModelTask]] = {}
        for entry in filter(None, (part.strip() for part in text.split(","))):
            tenant, profile, task = _parse_entry(entry)
            found[tenant, profile] = found.get((tenant, profile), frozenset()) | {task}
        return cls(found)

    def find_tasks(self, tenant_id: str, profile: Profile) -> frozenset[ModelTask]:
        tasks = self.by_tenant.get((tenant_id, profile))
        tasks = self.by_tenant.get((ANY_TENANT, profile), frozenset()) if tasks is None else tasks
        return frozenset() if ModelTask.OFF in tasks else tasks

    def __bool__(self) -> bool:
        return any(tasks - {ModelTask.OFF} for tasks in self.by_tenant.values())


def _parse_entry(entry: str) -> tuple[str, Profile, ModelTask]:
    parts = entry.rsplit(":", 2)
    if len(parts) != 3 or not parts[0] or parts[2] not in set(ModelTask):
        raise ValueError("each entry is tenant:profile:task, and a task is classify, extract, unsure or off")
    if parts[1] not in (Profile.INVOICE, Profile.CONTRACT_NOTE):
        raise ValueError("a model reads documents of the profiles invoice and contract_note")
    return parts[0], Profile(parts[1]), ModelTask(parts[2])


_ALL_TASKS = frozenset({ModelTask.CLASSIFY, ModelTask.EXTRACT})


def lack_model(outcome: DocumentOutcome, transcript: Transcript) -> DocumentOutcome:
    """The outcome of a reading without the model, which notes that one could have been asked."""
    if not is_model_asked(_ALL_TASKS, outcome, transcript):
        return outcome
    return replace(outcome, missing_readers=replace(outcome.missing_readers, model=True))


def is_model_asked(tasks: frozenset[ModelTask], outcome: DocumentOutcome, transcript: Transcript) -> bool:
    """What stands in an XML is exact, and without text nothing that a model says could be checked."""
    if not tasks or transcript.e_invoice is not None or not transcript.lines:
        return False
    if outcome.status is ResultStatus.SKIPPED:
        return ModelTask.CLASSIFY in tasks
    if outcome.extraction is None:
        return False
    return bool(tasks - {ModelTask.UNSURE}) or outcome.status is ResultStatus.NEEDS_REVIEW

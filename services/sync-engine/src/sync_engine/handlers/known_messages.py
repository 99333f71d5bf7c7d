"""Decides which messages that were judged before are looked at again, and remembers in which version they were."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from mailroom_common.metrics import SYNC_MESSAGES_PASSED_OVER
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.message_records import KnownMessage, PassedOverReason
from sync_engine.handlers.message_batches import MessageRef
from sync_engine.handlers.sync_run import SyncRun

_MAX_VERSIONS = 50_000


def build_listed_refs(
    run: SyncRun, summaries: Sequence[MessageSummary], known: Mapping[str, KnownMessage]
) -> list[MessageRef]:
    """The new ones of a list, and those that are to be judged anew."""
    refs: list[MessageRef] = []
    for summary in summaries:
        record = known.get(summary.message_id)
        if record is not None:
            ref = build_known_ref(run, record, summary, has_moved=is_in_other_folder(record, summary))
            refs += [ref] if ref else []
        elif run.is_before_start(summary):
            SYNC_MESSAGES_PASSED_OVER.labels(PassedOverReason.BEFORE_START).inc()
        else:
            refs.append(MessageRef(summary.message_id, summary))
    return refs


def build_known_ref(
    run: SyncRun, known: KnownMessage, summary: MessageSummary | None, *, has_moved: bool
) -> MessageRef | None:
    """None where nothing says that it would be judged otherwise than before."""
    if not known.may_be_judged_anew:
        return None
    has_other_version = (
        run.provider.traits.versions_follow_content
        and summary is not None
        and summary.version is not None
        and summary.version != known.version
    )
    # What was gone and is shown is there again, in whichever version.
    if not has_moved and not has_other_version and not known.has_gone_part:
        return None
    return MessageRef(known.message_id, summary, may_be_gone=True, known=known, has_moved=has_moved)


def is_in_other_folder(known: KnownMessage, summary: MessageSummary | None) -> bool:
    return summary is not None and summary.folder_id is not None and summary.folder_id != known.folder_id


class ComparedVersions:
    """In which version a message was last found to have no new part.

    A flag changes the version too. In memory: what is forgotten costs one call.
    """

    def __init__(self, max_versions: int = _MAX_VERSIONS) -> None:
        self._max_versions = max_versions
        self._versions: OrderedDict[tuple[str, str], str] = OrderedDict()

    def record_version(self, run: SyncRun, summary: MessageSummary) -> None:
        if summary.version is None:
            return
        self._versions[run.doc_source_id, summary.message_id] = summary.version
        self._versions.move_to_end((run.doc_source_id, summary.message_id))
        if len(self._versions) > self._max_versions:
            self._versions.popitem(last=False)

    def is_compared(self, run: SyncRun, summary: MessageSummary) -> bool:
        version = self._versions.get((run.doc_source_id, summary.message_id))
        return version is not None and version == summary.version

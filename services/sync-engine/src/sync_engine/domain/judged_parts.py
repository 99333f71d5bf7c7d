"""Which parts of a message that was judged before are judged anew: bytes are fetched only where that can matter."""

from collections.abc import Iterable, Sequence

from mailroom_common.providers.types import Part
from sync_engine.domain.mail_filter import REJECTED_MAIL_REASON
from sync_engine.domain.message_records import EmptyPart, RecordedPart
from sync_engine.domain.parts import SkipReason
from sync_engine.domain.untrusted_text import clean_filename

_REJECTED_MAIL_PREFIX = REJECTED_MAIL_REASON.format("")


def has_new_part(listed: Iterable[Part], recorded: Sequence[RecordedPart]) -> bool:
    """Whether the mail has a part now that was not judged: by its id, its name or its size; or that was gone."""
    return any(_is_new(part, _find_records(part, recorded)) for part in listed)


def select_parts_to_judge(listed: Iterable[Part], recorded: Sequence[RecordedPart]) -> list[Part]:
    """What is new, what is parked, and what was left unread for its mail's sake; never what is stored."""
    return [part for part in listed if _is_open(part, _find_records(part, recorded))]


def find_replaced_paths(
    listed: Sequence[Part], judged: Sequence[Part], recorded: Sequence[RecordedPart]
) -> tuple[str, ...]:
    """The records that a new judgement stands for: of the parts that were judged, and of those that the mail has no
    longer. A stored part keeps its own."""
    kept = {record.part_path for part in listed if part not in judged for record in _find_records(part, recorded)}
    return tuple(record.part_path for record in recorded if record.part_path not in kept and not record.is_stored)


def find_missing_parts(listed: Sequence[Part], recorded: Sequence[RecordedPart]) -> list[RecordedPart]:
    """Parked parts that the mail has no longer, and those that were gone before: each keeps a record that says so."""
    found = {record.part_path for part in listed for record in _find_records(part, recorded)}
    unread = [record for record in recorded if record.is_parked or record.skip_reason == SkipReason.GONE]
    return [record for record in unread if record.part_path not in found]


def find_empty_parts(opened: Iterable[Part], part_paths: Sequence[str]) -> tuple[EmptyPart, ...]:
    """Those that left nothing behind. `part_paths` are of what came of all of them."""
    return tuple(
        _build_empty_part(part)
        for part in opened
        if not any(path == part.part_path or path.startswith(f"{part.part_path}/") for path in part_paths)
    )


def leave_out_empty(listed: Iterable[Part], empty: Sequence[EmptyPart]) -> list[Part]:
    """One with another name or size is another container."""
    return [part for part in listed if _build_empty_part(part) not in empty]


def _build_empty_part(part: Part) -> EmptyPart:
    return EmptyPart(part_path=part.part_path, filename=clean_filename(part.filename), size_bytes=part.size_bytes)


def _find_records(part: Part, recorded: Iterable[RecordedPart]) -> list[RecordedPart]:
    """The part's own, or those of its contents: an opened container has none of its own."""
    contents = f"{part.part_path}/"
    return [
        record for record in recorded if record.part_path == part.part_path or record.part_path.startswith(contents)
    ]


def _is_new(part: Part, records: Sequence[RecordedPart]) -> bool:
    own = next((record for record in records if record.part_path == part.part_path), None)
    if own is None:
        return not records
    if own.skip_reason == SkipReason.GONE:
        return True
    return not own.is_stored and (own.filename, own.size_bytes) != (clean_filename(part.filename), part.size_bytes)


def _is_open(part: Part, records: Sequence[RecordedPart]) -> bool:
    return _is_new(part, records) or any(
        record.is_parked or (record.skip_reason or "").startswith(_REJECTED_MAIL_PREFIX) for record in records
    )

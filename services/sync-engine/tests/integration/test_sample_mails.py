"""All sample mails through both providers: each part is stored or skipped as the samples' index says, and how it was
reached. The samples lie outside of the repository, for their licences."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from provider_site import Site, open_site

from mailroom_common.events import Profile, SyncReason
from sync_engine.domain.run_outcomes import RunCompleted, RunUnfinished

_CHECKOUT = Path(__file__).parents[4]
SAMPLES = Path(os.environ.get("MAILROOM_SAMPLES", _CHECKOUT.parent / "shared" / "samples"))
INDEX = SAMPLES / "index.json"
# Graph tells no disposition, so that of a picture which is both it is known only that it belongs to the layout.
_LAYOUT_PICTURES = ("inline_picture", "referenced_by_body")

pytestmark = pytest.mark.skipif(
    not INDEX.is_file(), reason=f"there are no sample mails at {SAMPLES}; MAILROOM_SAMPLES says where they are"
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A mail, what its provider calls it, and what its parts must be."""

    path: str
    message_id: str
    expected: Mapping[str, Any]


def load_index() -> list[Mapping[str, Any]]:
    return [entry for entry in json.loads(INDEX.read_text())["files"] if entry["kind"] == "mail"]


async def deliver_samples(site: Site) -> list[Sample]:
    found = []
    for entry in load_index():
        source = (SAMPLES / entry["path"]).read_bytes()
        (message_id,) = await site.sandbox.control.deliver_mail(source, site.address)
        found.append(Sample(entry["path"], message_id, entry["expected"]))
    return found


def list_expected_parts(sample: Sample) -> Counter[tuple[object, ...]]:
    return Counter(
        (part["filename"], _name_reason(None if part["take"] else part["reason"]), tuple(part.get("via", ())))
        for part in sample.expected["attachments"]
    )


def list_parts(rows: Sequence[asyncpg.Record]) -> Counter[tuple[object, ...]]:
    return Counter((row["filename"], _name_reason(row["skip_reason"]), tuple(row["via"] or ())) for row in rows)


def _name_reason(reason: str | None) -> str | None:
    # The one inline picture without a name lies in a mail that is rejected: its bytes, which are none, are not read.
    if reason == "rejected_mail:no_document_words":
        return "not_a_document"
    return "layout_picture" if reason in _LAYOUT_PICTURES else reason


def list_expected_hashes(sample: Sample) -> set[str]:
    return {part["sha256"] for part in sample.expected["attachments"] if part["take"] and "sha256" in part}


@pytest.mark.parametrize("provider", ["outlook", "gmail"])
async def test_every_sample_mail_has_the_parts_of_the_index(
    provider: str, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_site(provider, Profile.INVOICE, postgres_url, tmp_path, monkeypatch) as site:
        samples = await deliver_samples(site)
        # In slices, each of which gives the mailbox's turn back.
        while isinstance(outcome := await site.engine.run_sync(SyncReason.CONNECT), RunUnfinished):
            pass
        assert isinstance(outcome, RunCompleted), outcome
        parts: dict[str, list[asyncpg.Record]] = {sample.message_id: [] for sample in samples}
        for row in await site.engine.read_rows("message_part"):
            parts[row["message_id"]].append(row)
        blobs = {
            row["content_sha256"]: hashlib.sha256((site.engine.blob_folder / row["blob_key"]).read_bytes()).hexdigest()
            for row in await site.engine.read_rows("message_part")
            if row["stored"]
        }

    differences = []
    for sample in samples:
        found, expected = list_parts(parts[sample.message_id]), list_expected_parts(sample)
        missing = list_expected_hashes(sample) - {row["content_sha256"] for row in parts[sample.message_id]}
        if found != expected or missing:
            differences.append(
                (sample.path, "found", list(found - expected), "expected", list(expected - found), missing)
            )
    assert differences == []
    assert len(samples) > 100
    assert all(digest == stored for digest, stored in blobs.items())


async def test_an_attached_mail_that_gmail_shows_by_its_parts_alone_is_opened_within_the_source(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_site("gmail", Profile.INVOICE, postgres_url, tmp_path, monkeypatch) as site:
        source = (SAMPLES / "mails" / "made" / "forwarded.eml").read_bytes()
        await site.sandbox.control.set_fault("nested_mail")
        await site.sandbox.control.deliver_mail(source, site.address)
        await site.engine.complete_run(SyncReason.CONNECT)
        (row,) = await site.engine.read_rows("message_part")
    assert (row["filename"], row["via"], row["stored"]) == ("facture.pdf", ["message"], True)

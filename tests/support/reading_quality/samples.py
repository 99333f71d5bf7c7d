"""Samples with known values: a folder with `index.json`, as its README describes it. They stay where they lie."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KINDS = frozenset({"invoice", "scan", "contract_note", "contract_note_text"})  # mails and provider bodies are others


@dataclass(frozen=True, slots=True)
class Sample:
    """A document and what is known of it.

    `family` are documents of one layout: those of a supplier, of a bank. `truth` has the expected values, `expected`
    the outcome (`process`, `skip`, or `unclear`, which is not scored).
    """

    path: Path
    kind: str
    family: str
    truth: Mapping[str, Any]
    expected: Mapping[str, Any]

    @property
    def is_contract_note(self) -> bool:
        return self.kind.startswith("contract_note")

    @property
    def is_text(self) -> bool:
        return self.path.suffix == ".txt"


class NoSamples(Exception):
    """The folder has no samples in the shape that its README describes."""


def find_samples(folder: Path) -> list[Sample]:
    """
    Raises:
        NoSamples: there is no `index.json`, or no document in it.
    """
    index = folder / "index.json"
    if not index.is_file():
        raise NoSamples(f"there is no {index}: name a folder of the shape of shared/samples, make eval SAMPLES=folder")
    samples = list(_read_index(folder, json.loads(index.read_text())["files"]))
    if not samples:
        raise NoSamples(f"{index} lists no document with expected values")
    return samples


def _read_index(folder: Path, entries: list[Mapping[str, Any]]) -> Iterator[Sample]:
    for entry in entries:
        if entry["kind"] not in _KINDS or not entry.get("truth"):
            continue
        path = folder / entry["path"]
        truth = json.loads((folder / entry["truth"]).read_text())
        yield Sample(path, entry["kind"], _name_family(entry, path, truth), truth, entry["expected"])


def _name_family(entry: Mapping[str, Any], path: Path, truth: Mapping[str, Any]) -> str:
    """By the supplier, whose documents look alike wherever they lie; a bank's notes are a folder."""
    if family := entry.get("family"):
        return str(family)
    supplier = truth.get("supplier_name")
    return re.sub(r"\W+", "-", supplier).strip("-").lower()[:32] if supplier else path.parent.name

import json
from pathlib import Path
from typing import Any

import pytest
from reading_quality.samples import NoSamples, find_samples


def write_index(folder: Path, entries: list[dict[str, Any]], truths: dict[str, dict[str, Any]]) -> None:
    (folder / "index.json").write_text(json.dumps({"files": entries}))
    for name, truth in truths.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(truth))


def test_documents_with_known_values_are_found_and_mails_are_not(tmp_path: Path) -> None:
    entries = [
        {"kind": "mail", "path": "a.eml", "expected": {}},
        {"kind": "invoice", "path": "x/b.pdf", "truth": "x/b.json", "expected": {"outcome": "process"}},
        {"kind": "contract_note", "path": "bank/c.txt", "truth": "bank/c.json", "expected": {"outcome": "skip"}},
    ]
    write_index(tmp_path, entries, {"x/b.json": {"supplier_name": "Muster & Söhne"}, "bank/c.json": {}})
    invoice, note = find_samples(tmp_path)
    assert (invoice.family, invoice.is_text) == ("muster-söhne", False)
    assert (note.family, note.is_text, note.is_contract_note) == ("bank", True, True)


def test_a_folder_of_another_shape_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    with pytest.raises(NoSamples, match="make eval SAMPLES=folder"):
        find_samples(tmp_path)
    write_index(tmp_path, [], {})
    with pytest.raises(NoSamples, match="no document"):
        find_samples(tmp_path)

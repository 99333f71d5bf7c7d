"""The Avro schemas of our events as the package carries them: `schemas/<topic>/v<N>.avsc`."""

import json
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, cast

import fastavro
from fastavro.schema import fingerprint as fastavro_fingerprint
from fastavro.schema import to_parsing_canonical_form

AvroSchema = dict[str, Any]
"""Any: Avro schemas are JSON of any shape, and only fastavro looks into them."""


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One file. `number` is the file's version: two files that differ in defaults only share a fingerprint."""

    folder: str
    number: int
    text: str
    parsed: AvroSchema = field(hash=False, repr=False)
    fingerprint: bytes


def compute_fingerprint(schema: Any) -> bytes:
    """CRC-64-AVRO of the parsing canonical form, the 8 bytes as they stand on the wire (little-endian).

    By fastavro only: avro 1.12 keeps `{"type": "long"}` for a primitive with a logical type, against the
    specification, and gets another number (kafka.md 3.7).
    """
    return bytes.fromhex(fastavro_fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))


def parse_schema(text: str) -> AvroSchema:
    """Raises ValueError or a fastavro error when it is no schema."""
    return cast("AvroSchema", fastavro.parse_schema(json.loads(text)))


@cache
def load_packaged_schemas() -> dict[str, tuple[SchemaVersion, ...]]:
    """By folder, oldest version first."""
    found = {}
    for folder in resources.files("mailroom_common").joinpath("schemas").iterdir():
        if not folder.is_dir() or folder.name.startswith(("_", ".")):
            continue
        versions = []
        for file in folder.iterdir():
            if file.name.endswith(".avsc"):
                text = file.read_text(encoding="utf-8")
                number = int(file.name.removeprefix("v").removesuffix(".avsc"))
                versions.append(
                    SchemaVersion(folder.name, number, text, parse_schema(text), compute_fingerprint(json.loads(text)))
                )
        found[folder.name] = tuple(sorted(versions, key=lambda version: version.number))
    return found

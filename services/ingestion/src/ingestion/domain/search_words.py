"""The words by which a document is found, and the key that documents share which may be one invoice.

Folded alike when written and when asked for: without accents and case, so that `muller` finds `Müller`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

_MAX_WORDS = 2000  # of one document; a Postgres tsvector holds 1 MB
_MAX_WORD_CHARACTERS = 40
_SUPPLIER, _ANYWHERE = "s", "a"

# A document with these equal in another one may be the same invoice.
_KEY_FIELDS = ("supplier_name", "invoice_number", "issue_date", "currency", "total_gross")


def fold_words(text: str) -> list[str]:
    # Letters that no decomposition takes apart are left: `ß` becomes `ss` by its case already. One by one: a row of
    # accents would be sorted, which takes minutes for a hundred thousand of them.
    letters = (part for letter in text.casefold() for part in unicodedata.normalize("NFKD", letter))
    plain = "".join(letter for letter in letters if not _is_accent(letter))
    return [word[:_MAX_WORD_CHARACTERS] for word in re.findall(r"[^\W_]+", plain)]


def _is_accent(letter: str) -> bool:
    return unicodedata.combining(letter) != 0


def list_document_words(
    tenant_id: str, source_metadata: Mapping[str, Any], extraction: Mapping[str, Any] | None
) -> list[str]:
    """Each word once, behind its tenant: so no search goes through another tenant's documents."""
    fields = extraction or {}
    suppliers = fold_words(str(fields.get("supplier_name") or ""))
    words = [word for text in _list_texts(source_metadata, fields) for word in fold_words(text)]
    marked = [f"{_SUPPLIER}:{tenant_id}/{word}" for word in suppliers]
    marked += [f"{_ANYWHERE}:{tenant_id}/{word}" for word in (*suppliers, *words)]
    return list(dict.fromkeys(marked))[:_MAX_WORDS]


def _list_texts(source_metadata: Mapping[str, Any], fields: Mapping[str, Any]) -> Iterator[str]:
    yield from (str(source_metadata.get(name) or "") for name in ("from", "subject", "attachment_filename"))
    yield from (value for name, value in fields.items() if isinstance(value, str) and name != "supplier_name")
    for part in (*_as_list(fields.get("lines")), *_as_list(fields.get("trades"))):
        if isinstance(part, Mapping):
            yield from (value for value in part.values() if isinstance(value, str))


def _as_list(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()


def build_word_query(tenant_id: str, *, text: str | None, supplier: str | None) -> str | None:
    """A `tsquery` whose words the document has to have, all of them; None where nothing is asked for.

    Whole words: of beginnings Postgres cannot tell a rare one from one that half of the documents have.
    """
    asked = [(_ANYWHERE, word) for word in fold_words(text or "")]
    asked += [(_SUPPLIER, word) for word in fold_words(supplier or "")]
    terms = [_quote(f"{field}:{tenant_id}/{word}") for field, word in dict.fromkeys(asked)]
    return " & ".join(terms) or None


def _quote(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def build_duplicate_key(document_type: str | None, extraction: Mapping[str, Any] | None) -> str | None:
    """None where a field is unknown: what was hardly read is like nothing else."""
    values = [(extraction or {}).get(name) for name in _KEY_FIELDS]
    if not all(isinstance(value, str) and value for value in values):
        return None
    folded = ["".join(fold_words(str(value))) for value in values[:2]] + [str(value) for value in values[2:]]
    return sha256("\x1f".join([document_type or "", *folded]).encode()).hexdigest() if all(folded) else None

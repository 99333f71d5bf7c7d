"""What SQL holds equal without case is the same in every database: a locale changes no letter of ours.

In a Turkish locale `lower('I')` is no `i`, and `upper('i')` no `I`: a mailbox or the reference of a trade that is
compared so would not be found. Python's own `lower` knows no locale.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_CALL = re.compile(r"(?<![.\w])(?:lower|upper)\(")
# To its own end, and not to that of a call behind it.
_OF_NO_LOCALE = re.compile(r"(?:(?!(?:lower|upper)\().){0,200}?collate \\*\"C\\*\"\s*\)", re.DOTALL)
# Landed, with what became of it; or no decision hangs on it.
ALLOWED = {
    "0001_connections.sql": "an index that 0010 drops",
    "0009_document_search_indexes.sql": "of the search by number",
    "0037_ledger_links.sql": "an index of an earlier release; 0043 has that of this one",
    "document_search.py": "a search by number: who types it as it is printed finds it in every locale",
}


def find_calls(root: Path) -> Iterator[str]:
    """The files whose SQL folds case by the database's locale."""
    for folder in (*root.glob("services/*/src"), *root.glob("libs/*/src")):
        for file in sorted((*folder.rglob("*.sql"), *folder.rglob("adapters/*.py"))):
            text = file.read_text()
            if any(_OF_NO_LOCALE.match(text, call.end()) is None for call in _CALL.finditer(text)):
                yield file.name


def test_sql_folds_case_by_no_locale() -> None:
    assert set(find_calls(ROOT)) == set(ALLOWED)


def test_a_comparison_by_the_locale_of_the_database_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "services/made-up/src/adapters"
    folder.mkdir(parents=True)
    (folder / "wrong.py").write_text("FIND = 'where lower(address) = lower($1)'")
    (folder / "half.py").write_text("FIND = 'where lower(address collate \"C\") = lower($1)'")
    (folder / "right.py").write_text('FIND = \'where lower(address collate "C") = lower($1 collate "C")\'.lower()')
    assert set(find_calls(tmp_path)) == {"wrong.py", "half.py"}

"""The tables: each `create table` of the migrations, with the comments beside its columns."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from reference.sources import Section, format_table

# Columns that mean the same wherever they stand; a comment in the migration goes before.
_COMMON_COLUMNS = {
    "tenant_id": "The tenant that the row belongs to; part of every query of an API.",
    "doc_source_id": "The doc source that the row belongs to.",
    "provider": "Name of the provider: `outlook`, `gmail`.",
    "message_id": "The provider's id of the message.",
    "internet_message_id": "The `Message-ID` header of the mail.",
    "created_at": "When the row was inserted.",
    "updated_at": "When the row was last changed.",
    "seq": "Order of insertion, which the pages of the API follow.",
}
# Every schema has the same outbox (mailroom_common/outbox.py).
_OUTBOX_COLUMNS = {
    "id": "Order in which the rows were written.",
    "topic": "Topic to publish to, without the site's prefix.",
    "key": "Key of the record.",
    "value": "Encoded value of the record; null is a tombstone.",
    "headers": "Headers of the record.",
    "aggregate": "What the order of publishing is kept for: rows of one aggregate are sent one after the other.",
}
_TABLE = re.compile(r'create table (?:if not exists )?([\w."]+) \(', re.IGNORECASE)
_DROPPED = re.compile(r'drop table (?:if exists )?([\w."]+)', re.IGNORECASE)
_ALTERED = re.compile(r'alter table (?:only )?([\w."]+)', re.IGNORECASE)
_ADDED_COLUMN = re.compile(r"add column (?:if not exists )?(?=\w)", re.IGNORECASE)
_CHANGED_TYPE = re.compile(r"alter column (\w+) type ([^,;]+)", re.IGNORECASE)
_COMMENTED = re.compile(r"comment on column ([\w.]+)\.(\w+) is", re.IGNORECASE)
_NO_COLUMN = re.compile(r"(primary key|unique|check|foreign key|constraint|exclude)\b", re.IGNORECASE)
_COLUMN = re.compile(
    r'"?(\w+)"?\s+(.+?)(?=\s+(?:not null|null|primary key|unique|check|default|references|generated)\b|,?\s*$)'
)


@dataclass(slots=True)
class _Column:
    name: str
    type: str
    is_required: bool
    comments: list[str]


@dataclass(slots=True)
class _Table:
    name: str
    comment: str
    columns: list[_Column] = field(default_factory=list)


def read_tables(root: Path) -> Section:
    files = sorted([*root.glob("services/*/src/*/migrations/*.sql"), *root.glob("libs/*/src/**/migrations/*.sql")])
    # By schema and number: a column that a later migration adds belongs to the table of an earlier one.
    schemas = {file.parent: "" for file in files}
    for file in files:
        schemas[file.parent] += file.read_text() + "\n"
    tables = sorted((table for sql in schemas.values() for table in parse_tables(sql)), key=lambda table: table.name)
    parts, gaps = [], []
    for table in tables:
        rows = [[f"`{column.name}`", column.type, _meaning(table, column)] for column in table.columns]
        gaps += [f"column: {table.name}.{row[0]} has no comment" for row in rows if not row[2]]
        if not table.comment and not table.name.endswith(".outbox"):
            gaps.append(f"table: {table.name} has no comment above it")
        comment = (
            table.comment or "Events of this schema that wait to be published, as `mailroom_common/outbox.py` says."
        )
        parts.append(f"### {table.name}\n\n{comment}\n\n{format_table(('column', 'type', 'meaning'), rows)}")
    text = "## Tables\n\nEach service has its own Postgres schema. Times are ours unless a meaning says whose.\n\n"
    return Section(text + "\n".join(parts), gaps)


def _meaning(table: _Table, column: _Column) -> str:
    shared = _OUTBOX_COLUMNS if table.name.endswith(".outbox") else {}
    return " ".join(column.comments) or shared.get(column.name) or _COMMON_COLUMNS.get(column.name, "")


def parse_tables(sql: str) -> list[_Table]:
    """Comments above a table or a column, or at the end of a column's line, belong to it; what a later `comment on
    column` says on its second line takes their place."""
    tables: list[_Table] = []
    above: list[str] = []
    depth = 0
    altered: _Table | None = None
    awaits_comment: _Column | None = None
    for line in sql.splitlines():
        code, _, comment = (part.strip() for part in line.partition("--"))
        if not code:
            above = [*above, comment] if comment else []
        elif opened := _TABLE.match(code):
            tables.append(_Table(opened[1].replace('"', ""), " ".join(above)))
            above, depth, altered = [], 1, None
        elif not depth and (dropped := _DROPPED.match(code)):
            tables, above = [table for table in tables if table.name != dropped[1].replace('"', "")], []
        elif not depth and (found := _ALTERED.match(code)):
            name = found[1].replace('"', "")
            altered, above = next(table for table in tables if table.name == name), []
        elif not depth and (commented := _COMMENTED.match(code)):
            awaits_comment, above = _find_column(tables, commented[1], commented[2]), []
        elif awaits_comment is not None and code.startswith("'"):
            awaits_comment.comments, awaits_comment = [code.rstrip(";").strip("'").replace("''", "'")], None
        elif altered is not None and (added := _ADDED_COLUMN.match(code)):
            altered.columns.append(_parse_column(code[added.end() :].rstrip(",;"), above))
            if comment:
                altered.columns[-1].comments.append(comment)
            above = []
        elif altered is not None and (changed := _CHANGED_TYPE.match(code)):
            next(column for column in altered.columns if column.name == changed[1]).type = changed[2]
        elif depth:
            if depth == 1 and not code.startswith(")") and not _NO_COLUMN.match(code):
                tables[-1].columns.append(_parse_column(code, above))
            if comment:
                tables[-1].columns[-1].comments.append(comment)
            above = []
            depth += code.count("(") - code.count(")")
        else:
            above = []
    return tables


def _find_column(tables: list[_Table], table_name: str, name: str) -> _Column:
    table = next(table for table in tables if table.name == table_name)
    return next(column for column in table.columns if column.name == name)


def _parse_column(code: str, above: list[str]) -> _Column:
    match = _COLUMN.match(code)
    assert match, f"not the definition of a column: {code}"
    return _Column(match[1], match[2], " not null" in code, list(above))

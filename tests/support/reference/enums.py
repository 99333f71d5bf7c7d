"""The enumerated values: every StrEnum of the packages, since its values are written and shown."""

import ast
import re
from pathlib import Path

from reference.sources import Section, Source, format_table, read_sources


def read_enums(root: Path) -> Section:
    parts, gaps = [], []
    found = [
        (node, source)
        for source in read_sources(root)
        if "StrEnum" in source.text
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id == "StrEnum" for b in node.bases)
    ]
    for node, source in sorted(found, key=lambda pair: (pair[0].name, pair[1].module)):
        explanation = " ".join((ast.get_docstring(node) or "").split())
        values = _read_values(node, source)
        gaps += [
            f"value: {source.module}.{node.name} `{value}` has no comment"
            for name, value, meaning in values
            # A value without a comment may be explained in the docstring, by its own or by its member's name.
            if not meaning and not {name, value} & set(re.findall(r"\w+", explanation))
        ]
        rows = [(f"`{value}`", meaning) for _name, value, meaning in values]
        lead = f"{explanation}\n\n" if explanation else ""
        parts.append(f"### {node.name}\n\n`{source.module}`\n\n{lead}{format_table(('value', 'meaning'), rows)}")
    text = "## Enumerated values\n\nWords of records, columns, API answers, log fields and metric labels.\n\n"
    return Section(text + "\n".join(parts), gaps)


def _read_values(node: ast.ClassDef, source: Source) -> list[tuple[str, str, str]]:
    return [
        (ast.unparse(statement.targets[0]), str(ast.literal_eval(statement.value)), source.comment_beside(statement))
        for statement in node.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
    ]

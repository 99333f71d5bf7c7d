"""What the pages point to is there, and what they have people type is taken."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.exceptions import TyperException

from mailroom_cli.__main__ import app as mailroom
from mailroom_sandbox.__main__ import app as mailroom_sandbox

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "services", "libs", "cli", "sandbox", "tests", "deploy")
PAGES = [ROOT / "README.md", *sorted(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
SOURCE_FILE = re.compile(r"`([a-z_]+(?:/[a-z_]+)+\.py)`")
# In a span of code, or at the beginning of a line of a block; up to what the shell does with it.
COMMAND = re.compile(
    r"(?:(?<=`)|^)(?:\.venv/bin/)?(mailroom(?:-sandbox)?) ((?:\"[^\"]*\"|[^`\n#|;&<>\\\"])+)(?=$|[`#|;&<>\\])",
    re.MULTILINE,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    "page", ["README.md", "docs/architecture.md", "docs/reading.md", "services/ingestion/README.md"]
)
def test_source_files_that_a_page_names_exist(page: str) -> None:
    sources = [str(file.relative_to(ROOT)) for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    named = SOURCE_FILE.findall((ROOT / page).read_text())
    assert [file for file in named if not any(f"/{source}".endswith(f"/{file}") for source in sources)] == []


def test_each_module_that_reads_documents_is_explained_in_its_package() -> None:
    sources = ROOT / "services/ingestion/src/ingestion"
    folders = (sources / "readers", sources / "extract", *(sources / "extract").glob("[a-z]*/"))
    modules = {
        str(folder.relative_to(sources)): sorted({file.stem for file in folder.glob("*.py")} - {"__init__"})
        for folder in folders
    }
    explained: dict[str, list[str]] = {}
    for package, names in list_explained_modules((ROOT / "docs/reading.md").read_text()):
        explained[package] = sorted([*explained.get(package, []), *names])
    assert explained == modules


def list_explained_modules(page: str) -> Iterator[tuple[str, list[str]]]:
    """The package that a heading names, and the modules in the first column of the table below."""
    for heading, section in re.findall(r"^##+ (.*)\n((?:(?!#).*\n)*)", page, re.MULTILINE):
        package = re.search(r"`((?:readers|extract)[a-z/]*)`", heading)
        rows = re.findall(r"^\| (`[^|]+) \|", section.partition("| module |")[2].partition("\n\n")[0], re.MULTILINE)
        if package and rows:
            yield package[1], [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_each_guarantee_names_tests_that_exist() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("test_*.py")]
    tests = {name for file in files for name in re.findall(r"def (test_\w+)", file.read_text())}
    promises = re.findall(r"^\| (?!promise|---)(.+) \|$", (ROOT / "docs/guarantees.md").read_text(), re.MULTILINE)
    named = [re.findall(r"`(test_\w+)`", promise) for promise in promises]
    assert [promise for promise, names in zip(promises, named, strict=True) if not names] == []
    assert sorted({name for names in named for name in names} - tests) == []


def test_each_decision_is_in_the_index() -> None:
    decisions = ROOT / "docs/adr"
    files = sorted(file.name for file in decisions.glob("[0-9]*.md"))
    assert re.findall(r"\]\((\d{4}[^)]+)\)", (decisions / "README.md").read_text()) == files


def test_each_dependency_has_its_reason() -> None:
    explained = (ROOT / "docs/dependencies.md").read_text().lower()
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("pyproject.toml")]
    projects = [tomllib.loads(file.read_text())["project"] for file in files]
    ours = {project["name"] for project in projects}
    needed = {re.split(r"[\[<>=~!; ]", line)[0] for project in projects for line in project.get("dependencies", [])}
    assert sorted(name for name in needed - ours if name.lower() not in explained) == []


def list_typed_commands() -> Iterator[tuple[str, str]]:
    """Of each command in a page the page and the line."""
    for page in PAGES:
        for program, words in COMMAND.findall(page.read_text()):
            yield str(page.relative_to(ROOT)), f"{program} {words.strip()}"


def find_mistake(line: str) -> str | None:
    """Words and options that the program does not have. Values may be anything, and arguments may be left out."""
    program, *words = shlex.split(line)
    command = typer.main.get_command(mailroom if program == "mailroom" else mailroom_sandbox)
    while subcommands := getattr(command, "commands", None):
        if not words or words[0].isupper() or words[0].startswith("-"):
            return None
        if words[0] not in subcommands:
            return f"{line}: no command {words[0]}"
        command = subcommands[words.pop(0)]
    try:
        command.make_context(program, words)
    except TyperException as error:
        return f"{line}: {error}" if type(error).__name__ in {"NoSuchOption", "UsageError"} else None
    return None


def test_every_command_that_a_page_has_people_type_is_one() -> None:
    lines = list(list_typed_commands())
    assert len(lines) > 80
    assert [f"{page}: {mistake}" for page, line in lines if (mistake := find_mistake(line))] == []


@pytest.mark.parametrize(
    "line",
    [
        "mailroom dlq list attachments attachments-backfill",
        "mailroom nosuch",
        "mailroom documents list --status failed",
    ],
)
def test_a_command_that_is_none_is_found(line: str) -> None:
    assert find_mistake(line) is not None

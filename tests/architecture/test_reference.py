"""The generated pages say what the code says, and explain all of it."""

from io import StringIO

import pytest
from dotenv.parser import parse_stream
from reference import ROOT, Reference, build_reference
from reference.settings import collect_settings
from reference.tables import parse_tables


@pytest.fixture(scope="module")
def reference() -> Reference:
    return build_reference()


@pytest.mark.parametrize("name", ["docs/reference.md", "docs/settings.md", "docs/kafka-acls.md", ".env.example"])
def test_the_generated_pages_are_current(reference: Reference, name: str) -> None:
    assert (ROOT / name).read_text() == reference.files[name], f"run `make reference` and commit {name}"


def test_everything_in_the_reference_has_a_meaning(reference: Reference) -> None:
    assert reference.gaps == []


def test_every_setting_of_the_example_is_one_and_each_is_in_it(reference: Reference) -> None:
    lines = [line.removeprefix("# ") for line in reference.files[".env.example"].splitlines() if "MAILROOM_" in line]
    assignments = "\n".join(line for line in lines if line.split("=")[0].isupper() and " " not in line.split("=")[0])
    bindings = list(parse_stream(StringIO(assignments)))
    assert not [binding for binding in bindings if binding.error]
    assert sorted(str(binding.key) for binding in bindings) == sorted(
        setting.variable for setting in collect_settings(ROOT)
    )


def test_a_column_has_the_comment_beside_it_or_above_it() -> None:
    table, *_ = parse_tables(
        """
        -- One row per parcel.
        create table post.parcel (
            id uuid primary key,  -- given by the sender
            -- What the scales say.
            weight_g integer not null check (weight_g > 0),
            state text not null check (
                state in ('sent', 'lost')  -- lost: not seen for a week
            ),
            unique (id, state)
        );
        """
    )
    assert (table.name, table.comment) == ("post.parcel", "One row per parcel.")
    assert [(column.name, column.type, column.comments) for column in table.columns] == [
        ("id", "uuid", ["given by the sender"]),
        ("weight_g", "integer", ["What the scales say."]),
        ("state", "text", ["lost: not seen for a week"]),
    ]


def test_a_later_comment_takes_the_place_of_that_beside_the_column() -> None:
    (table,) = parse_tables(
        """
        create table post.parcel (
            id uuid primary key,  -- given by the sender
            seen_at timestamptz  -- when it came
        );
        comment on column post.parcel.seen_at is
            'when the sender''s van came';
        """
    )
    assert [column.comments for column in table.columns] == [["given by the sender"], ["when the sender's van came"]]


def test_a_column_that_a_later_migration_adds_belongs_to_its_table() -> None:
    table, other = parse_tables(
        """
        create table post.parcel (
            id uuid primary key  -- given by the sender
        );
        create table post.van (
            id uuid primary key  -- its plate
        );
        alter table post.parcel
            add column is_fragile boolean not null default false,  -- as the sender says
            -- Who took it.
            add column taken_by text;
        alter table post.van
            alter column id type varchar(20);
        """
    )
    assert [(column.name, column.type) for column in other.columns] == [("id", "varchar(20)")], "as it is now"
    assert [(column.name, column.type, column.comments) for column in table.columns] == [
        ("id", "uuid", ["given by the sender"]),
        ("is_fragile", "boolean", ["as the sender says"]),
        ("taken_by", "text", ["Who took it."]),
    ]


def test_a_table_that_a_later_migration_makes_anew_is_shown_as_it_is_now() -> None:
    (table,) = parse_tables(
        """
        -- What was sent.
        create table post.parcel (
            id uuid primary key  -- given by the sender
        );
        drop table post.parcel;
        -- What was taken.
        create table post.parcel (
            number bigint primary key  -- counted by us
        );
        """
    )
    assert (table.comment, [column.name for column in table.columns]) == ("What was taken.", ["number"])

"""docs/reference.md says what the code says, and explains all of it."""

from reference import PAGE, build_reference
from reference.tables import parse_tables


def test_the_reference_is_current() -> None:
    assert PAGE.read_text() == build_reference().page, "run `make reference` and commit docs/reference.md"


def test_everything_in_the_reference_has_a_meaning() -> None:
    assert build_reference().gaps == []


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
        """
    )
    assert [column.name for column in other.columns] == ["id"]
    assert [(column.name, column.type, column.comments) for column in table.columns] == [
        ("id", "uuid", ["given by the sender"]),
        ("is_fragile", "boolean", ["as the sender says"]),
        ("taken_by", "text", ["Who took it."]),
    ]

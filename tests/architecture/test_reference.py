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

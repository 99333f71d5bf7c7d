from uuid import UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st

from mailroom_common.events import derive_event_id

NAMESPACE = UUID("6f1d3f0a-5b0e-5c7e-9f3e-6d61696c726d")


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_a_derived_event_id_is_the_uuid5_of_its_parts(parts: list[str]) -> None:
    assert derive_event_id(*parts) == str(uuid5(NAMESPACE, "\x1f".join(parts)))


def test_where_a_part_ends_makes_a_difference() -> None:
    assert derive_event_id("ab", "c") != derive_event_id("a", "bc")

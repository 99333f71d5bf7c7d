import dataclasses

from cli_site import build_attachment, build_source

from mailroom_cli.record_view import MASK, view_event
from mailroom_common.events import ClientState


def test_digests_of_secrets_are_never_shown_and_what_mails_say_on_request_only() -> None:
    source = dataclasses.replace(
        build_source("active"),
        address="ap@acme.example",
        client_states=[ClientState(sha256="d" * 64, valid_until=build_source("active").occurred_at)],
    )
    hidden, shown = view_event(source), view_event(source, shows_contents=True)
    assert (hidden["address"], shown["address"]) == (MASK, "ap@acme.example")
    assert [view["client_states"][0]["sha256"] for view in (hidden, shown)] == [MASK, MASK]


def test_fields_have_the_names_of_the_wire_and_what_is_empty_needs_no_mask() -> None:
    view = view_event(dataclasses.replace(build_attachment("active", "m1"), from_="a@b.example"))
    assert (view["from"], view["subject"], view["filename"]) == (MASK, MASK, None)
    assert view["doc_source_id"] == "active"

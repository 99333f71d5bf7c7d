import dataclasses
from types import SimpleNamespace

from cli_site import build_attachment, build_source
from newer_build import write_new_symbol

from mailroom_cli.record_view import MASK, view_event, view_record
from mailroom_common.events import ClientState, MailEvent, MailKind
from mailroom_common.kafka.codec import Codec
from mailroom_common.topics import DOC_SOURCES, SCHEMAS


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


def test_of_an_observed_mail_only_what_names_and_dates_it_is_shown() -> None:
    event = MailEvent(
        event_id="e",
        occurred_at=build_source("active").occurred_at,
        tenant_id="acme",
        doc_source_id="active",
        kind=MailKind.MOVED,
        message_id="m",
        folder="Notice to quit",
        previous_folder="Notice to quit",
        from_address="Notice to quit",
        from_domain="Notice to quit",
        from_name="Notice to quit",
        subject="Notice to quit",
        internet_message_id="Notice to quit",
        categories=["Notice to quit"],
    )
    assert "Notice to quit" not in str(view_event(event))
    assert str(view_event(event, shows_contents=True)).count("Notice to quit") == 8


def test_a_record_of_no_possible_time_is_shown() -> None:
    raw = SimpleNamespace(topic="schemas", partition=0, offset=1, timestamp=2**62, key=b"1", headers=(), value=b"{}")
    assert view_record(raw, SCHEMAS, Codec())["timestamp"].startswith("9999-12-31")


def test_a_record_with_a_symbol_of_a_newer_build_says_so_in_place_of_its_event() -> None:
    newer_record = write_new_symbol(build_source("active"), "doc-sources", "profile", "payslip")
    codec = Codec()
    codec.learn_schema(newer_record.fingerprint, newer_record.schema)
    raw = SimpleNamespace(
        topic="doc-sources", partition=0, offset=1, timestamp=0, key=b"active", headers=(), value=newer_record.value
    )
    assert view_record(raw, DOC_SOURCES, codec)["unreadable"] == (
        "a newer build wrote a symbol of Profile that this build does not have"
    )

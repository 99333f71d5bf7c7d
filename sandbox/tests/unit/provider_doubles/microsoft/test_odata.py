import pytest

from mailroom_sandbox.provider_doubles.microsoft.odata import (
    BadQuery,
    Condition,
    build_link,
    parse_count,
    parse_expand,
    parse_filter,
    parse_orderby,
    parse_time,
    split_list,
)


def test_filter_is_split_at_and_outside_of_quotes() -> None:
    conditions = parse_filter("subject eq 'bread and butter' and isRead ne true and from/emailAddress/address eq null")
    assert conditions == [
        Condition("subject", "eq", "bread and butter"),
        Condition("isRead", "ne", True),
        Condition("from/emailAddress/address", "eq", None),
    ]


def test_doubled_quote_is_one_quote() -> None:
    assert parse_filter("subject eq 'O''Brien'")[0].value == "O'Brien"


def test_times_are_compared_in_milliseconds_and_utc_is_assumed() -> None:
    assert parse_filter("receivedDateTime ge 2026-01-01T00:00:00Z")[0].value == 1_767_225_600_000
    assert parse_time("2026-01-01T01:00:00+01:00") == parse_time("2026-01-01T00:00:00")


@pytest.mark.parametrize("text", ["subject", "subject like 'x'", "receivedDateTime ge yesterday"])
def test_wrong_filters_are_refused(text: str) -> None:
    with pytest.raises(BadQuery):
        parse_filter(text)


def test_text_is_compared_without_case_and_nested_members_are_found() -> None:
    item = {"from": {"emailAddress": {"address": "A@B.example"}}}
    assert Condition("from/emailAddress/address", "eq", "a@b.EXAMPLE").is_met(item)
    assert Condition("from/name", "ne", "x").is_met(item)
    with pytest.raises(BadQuery, match="not supported"):
        Condition("from", "gt", "x").is_met(item)


def test_order_expand_and_lists() -> None:
    assert parse_orderby("a desc,b") == [("a", True), ("b", False)]
    assert parse_expand("Attachments($select=id,name),extensions") == {"attachments": ["id", "name"], "extensions": []}
    assert split_list("a(b,c), d,") == ["a(b,c)", "d"]
    with pytest.raises(BadQuery):
        parse_orderby("a upwards")


def test_count_is_capped_and_must_be_a_number() -> None:
    assert (parse_count("5000", "$top", most=1000), parse_count(None, "$top", most=1)) == (1000, None)
    with pytest.raises(BadQuery, match=r"\$top"):
        parse_count("-1", "$top", most=10)


def test_link_escapes_its_values() -> None:
    assert (
        build_link("https://host", "me/messages", {"$filter": "a b"}) == "https://host/v1.0/me/messages?$filter=a%20b"
    )

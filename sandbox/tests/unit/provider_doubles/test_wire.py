from dataclasses import replace

import pytest

from mailroom_sandbox.provider_doubles.wire import Call, Reply, TokenSeal

CALL = Call("GET", "/", {"a": ("1", "2")}, {}, b"", "https://host")


def test_preferences_are_read_with_lower_case_names_and_without_quotes() -> None:
    call = replace(CALL, headers={"prefer": 'odata.maxpagesize=5, IdType="ImmutableId"'})
    assert call.read_preferences() == {"odata.maxpagesize": "5", "idtype": "ImmutableId"}


def test_first_value_of_a_repeated_parameter_counts() -> None:
    assert (CALL.query_value("a"), CALL.query_value("b")) == ("1", None)


def test_sealed_token_opens_with_its_own_key_and_kind_only() -> None:
    seal = TokenSeal(b"k" * 32)
    token = seal.seal_token("page", {"after": 7})
    assert seal.open_token("page", token) == {"after": 7}
    assert seal.open_token("delta", token) is None
    assert TokenSeal(b"x" * 32).open_token("page", token) is None


@pytest.mark.parametrize("token", ["", "x", "é", "AAAA", "%%%"])
def test_token_of_nobody_opens_as_none(token: str) -> None:
    assert TokenSeal(b"k" * 32).open_token("page", token) is None


def test_same_content_is_sealed_as_another_token_each_time() -> None:
    seal = TokenSeal(b"k" * 32)
    assert seal.seal_token("page", {}) != seal.seal_token("page", {})


def test_absent_body_has_neither_bytes_nor_type() -> None:
    assert (Reply(204).content(), Reply(204).content_type("application/json")) == (b"", None)


def test_added_headers_stand_beside_the_first() -> None:
    assert Reply(headers={"a": "1"}).with_headers(retry_after="2").headers == {"a": "1", "retry-after": "2"}

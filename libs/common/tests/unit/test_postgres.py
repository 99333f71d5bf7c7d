import ssl

import asyncpg
import pytest

from mailroom_common.errors import Unavailable
from mailroom_common.postgres import transient_errors


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (ssl.SSLCertVerificationError("self-signed certificate"), "MAILROOM_CA_BUNDLE"),
        (asyncpg.exceptions.InvalidPasswordError("for role x"), "refuses the role"),
    ],
)
def test_what_a_person_has_to_mend_is_named_beside_the_kind_of_failure(error: Exception, advice: str) -> None:
    with (
        pytest.raises(Unavailable, match=f"^Postgres: {type(error).__name__}: .*{advice}") as raised,
        transient_errors(),
    ):
        raise error
    assert str(error) not in str(raised.value)


def test_a_failure_that_ends_by_itself_is_named_by_its_kind_alone() -> None:
    with pytest.raises(Unavailable, match=r"^Postgres: ConnectionRefusedError$"), transient_errors():
        raise ConnectionRefusedError

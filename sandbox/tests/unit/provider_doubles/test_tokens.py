from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.tokens import Holder, Tokens

HOLDER = Holder("gmail", "user-1", "tenant", "client", frozenset({"read"}), "grant-1")


class Bench:
    def __init__(self, folder: Path) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.store = Store(folder)
        self.tokens = Tokens(self.store, lambda: self.now)
        self.tokens.store_token("access", "access-1", HOLDER, timedelta(hours=1))
        self.tokens.store_token("refresh", "refresh-1", HOLDER, timedelta(days=90))

    def problem(self, kind: str, value: str) -> str | None:
        assert kind in ("access", "refresh")
        return self.tokens.find_token(kind, "gmail", value).problem  # type: ignore[arg-type]  # one of the two


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.store.close()


def test_token_is_found_by_its_kind_and_provider_only(bench: Bench) -> None:
    assert bench.tokens.find_token("access", "gmail", "access-1").holder == HOLDER
    assert bench.problem("refresh", "access-1") == "unknown"
    assert bench.tokens.find_token("access", "outlook", "access-1").problem == "unknown"


def test_token_is_stored_as_its_hash(bench: Bench) -> None:
    (row, *_) = bench.store.select_rows("select * from token")
    assert "access-1" not in str(dict(row))


def test_token_expires_by_the_clock_and_by_command(bench: Bench) -> None:
    bench.now += timedelta(hours=2)
    assert bench.problem("access", "access-1") == "expired"
    bench.now -= timedelta(hours=2)
    assert bench.problem("access", "access-1") is None
    assert bench.tokens.expire_access("gmail", "user-1") == 1
    assert (bench.problem("access", "access-1"), bench.problem("refresh", "refresh-1")) == ("expired", None)


@pytest.mark.parametrize("access_too", [True, False])
def test_revoked_user_loses_refresh_tokens_and_access_where_the_provider_says_so(
    bench: Bench, access_too: bool
) -> None:
    assert bench.tokens.revoke_user_grants("gmail", "user-1", access_too=access_too) == 1 + access_too
    assert bench.problem("refresh", "refresh-1") == "revoked"
    assert bench.problem("access", "access-1") == ("revoked" if access_too else None)


def test_first_consent_is_the_first_only(bench: Bench) -> None:
    assert [bench.tokens.record_consent("gmail", "user-1", "client") for _ in range(2)] == [True, False]

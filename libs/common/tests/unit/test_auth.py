import hmac
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Annotated

import httpx
import pytest
from fastapi import Depends, FastAPI

from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.errors import SettingsError
from mailroom_common.process import Process
from mailroom_common.web import build_service_app


def _entry(tenant: str, role: str, key: str) -> str:
    return f"{tenant}:{role}:{sha256(key.encode()).hexdigest()}"


KEYS = APIKeys.parse_keys(
    ", ".join([_entry("acme", "viewer", "v"), _entry("acme", "operator", "o"), _entry("other:eu", "admin", "a")])
)


def _app() -> FastAPI:
    app = build_service_app(Process("test"), title="test")

    @app.get("/operate")
    async def operate(caller: Annotated[Caller, Depends(require_role(KEYS, Role.OPERATOR))]) -> dict[str, str]:
        return {"tenant": caller.tenant_id, "role": caller.role.name}

    return app


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(_app()), base_url="http://service") as client:
        yield client


def test_key_tells_tenant_and_role() -> None:
    assert KEYS.find_caller("v") == Caller("acme", Role.VIEWER)
    assert KEYS.find_caller("a") == Caller("other:eu", Role.ADMIN)
    assert KEYS.find_caller("unknown") is None
    assert KEYS.find_caller("") is None


def test_every_digest_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    real = hmac.compare_digest

    def counting(left: bytes, right: bytes) -> bool:
        compared.append(left)
        return real(left, right)

    monkeypatch.setattr("mailroom_common.auth.hmac.compare_digest", counting)
    KEYS.find_caller("v")  # the first of three: the others are compared all the same
    assert len(compared) == 3


def test_keys_and_digests_are_in_no_representation() -> None:
    assert sha256(b"v").hexdigest() not in repr(KEYS)
    assert str(sha256(b"v").digest()) not in repr(KEYS)


@pytest.mark.parametrize(
    "text", ["acme:viewer", "acme:king:" + "0" * 64, "acme:viewer:xyz", "acme:viewer:00ff", ":viewer:" + "0" * 64]
)
def test_malformed_entry_is_refused_by_number_and_not_by_value(text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        APIKeys.parse_keys(f"{_entry('acme', 'viewer', 'v')},{text}")
    assert "MAILROOM_API_KEYS is wrong in entry 2" in str(refused.value)
    assert text not in str(refused.value)


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer nope", "Basic o", "o"])
async def test_no_valid_key_is_401_with_the_scheme(client: httpx.AsyncClient, header: str | None) -> None:
    answer = await client.get("/operate", headers={"authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["content-type"] == "application/problem+json"


async def test_wrong_key_is_told_from_a_missing_one(client: httpx.AsyncClient) -> None:
    missing = await client.get("/operate")
    wrong = await client.get("/operate", headers={"authorization": "Bearer canary"})
    assert (missing.json()["title"], wrong.json()["title"]) == ("An API key is needed", "This API key is wrong")
    assert 'error="invalid_token"' in wrong.headers["www-authenticate"]
    assert "canary" not in wrong.text


async def test_lower_role_is_403_and_higher_passes(client: httpx.AsyncClient) -> None:
    assert (await client.get("/operate", headers={"authorization": "Bearer v"})).status_code == 403
    assert (await client.get("/operate", headers={"authorization": "bearer o"})).json()["tenant"] == "acme"
    assert (await client.get("/operate", headers={"authorization": "Bearer a"})).json()["role"] == "ADMIN"

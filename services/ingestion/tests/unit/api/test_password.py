"""`POST /documents/{id}/password` without a database."""

from hashlib import sha256
from typing import Any

import httpx
import pytest

from ingestion.api.password import build_password_router
from ingestion.domain.document_password import NoPasswordNeeded, TooManyPasswords
from ingestion.ports.reviews import DocumentPasswords
from mailroom_common.auth import APIKeys
from mailroom_common.process import Process
from mailroom_common.web import build_service_app

ID = "6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10"
KEYS = APIKeys.parse_keys(f"acme:operator:{sha256(b'k').hexdigest()},acme:viewer:{sha256(b'v').hexdigest()}")


class FakeCatalog:
    async def find_document(self, tenant_id: str, document_id: str) -> dict[str, Any]:
        return {"id": document_id, "tenant_id": tenant_id}


class FakePasswords:
    def __init__(self, answer: bool | Exception = True) -> None:
        self._answer = answer
        self.given: list[str] = []

    async def give_password(self, tenant_id: str, document_id: str, password: str, *, api_key_id: str) -> bool:
        self.given.append(password)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


async def post(passwords: DocumentPasswords | None, body: Any, key: str = "k") -> httpx.Response:
    catalog: Any = FakeCatalog()
    app = build_service_app(Process("test"), title="test")
    app.include_router(build_password_router(catalog, passwords, KEYS))
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://api", headers=headers) as api:
        return await api.post(f"/documents/{ID}/password", json=body)


async def test_a_password_is_taken_as_it_is_and_the_answer_does_not_repeat_it() -> None:
    passwords = FakePasswords()
    answer = await post(passwords, {"password": " open sésame "})
    assert (answer.status_code, answer.json()["id"], passwords.given) == (202, ID, [" open sésame "])
    assert "same" not in answer.text


@pytest.mark.parametrize(
    ("answer", "status"), [(False, 404), (NoPasswordNeeded("It is not locked."), 409), (TooManyPasswords(), 429)]
)
async def test_each_refusal_has_its_status(answer: bool | Exception, status: int) -> None:
    assert (await post(FakePasswords(answer), {"password": "p"})).status_code == status


async def test_a_site_without_keys_takes_no_password() -> None:
    assert (await post(None, {"password": "p"})).status_code == 501


async def test_a_viewer_gives_no_password() -> None:
    passwords = FakePasswords()
    assert (await post(passwords, {"password": "p"}, key="v")).status_code == 403
    assert passwords.given == []


@pytest.mark.parametrize(
    "body",
    [
        {"password": ""},
        {"password": "canary" * 40},
        {"password": "canary\x00"},
        {"password": ["canary"]},
        {"p": "canary"},
    ],
)
async def test_what_is_no_password_is_refused_and_not_repeated(body: Any) -> None:
    passwords = FakePasswords()
    answer = await post(passwords, body)
    assert (answer.status_code, passwords.given) == (422, [])
    assert "canary" not in answer.text

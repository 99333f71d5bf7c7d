"""A provider's answers by `httpx.MockTransport`, and mailboxes to call it for: fixtures for `conftest.py` to import."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import httpx
import pytest

from mailroom_common.events import Access, Profile
from mailroom_common.providers.types import Mailbox

Handler = Callable[[httpx.Request], httpx.Response]


@dataclass
class Wire:
    """What was asked, and who answers. `answer` may be replaced by a test at any time."""

    answer: Handler = field(default=lambda _request: httpx.Response(500))
    requests: list[httpx.Request] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self.answer(request)

    def plays(self, *answers: httpx.Response) -> None:
        """These answers in this order, and no more calls than that."""
        left = list(answers)
        self.answer = lambda _request: left.pop(0)


@dataclass
class Tokens:
    """Gives `token-1`, and after a rejection the next one."""

    rejected: list[str] = field(default_factory=list)

    async def get_access_token(self, mailbox: Mailbox, /, *, rejected: str | None = None) -> str:
        if rejected is not None:
            self.rejected.append(rejected)
        return f"token-{len(self.rejected) + 1}"


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
async def http(wire: Wire) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(wire)) as client:
        yield client


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
def outlook() -> Mailbox:
    return Mailbox(
        doc_source_id="0b7c5a8e-0000-4000-8000-000000000001",
        provider="outlook",
        access=Access.DELEGATED,
        profile=Profile.INVOICE,
        address="ap@contoso.example",
        provider_user_id="user-1",
        grant_generation=3,
    )


@pytest.fixture
def gmail() -> Mailbox:
    return Mailbox(
        doc_source_id="0b7c5a8e-0000-4000-8000-000000000002",
        provider="gmail",
        access=Access.DELEGATED,
        profile=Profile.INVOICE,
        address="ap@example.org",
        provider_user_id="1122",
        grant_generation=1,
    )

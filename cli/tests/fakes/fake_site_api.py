"""A site's API for the commands: a test answers their calls."""

from collections.abc import Callable
from types import ModuleType

import httpx
import pytest

from mailroom_cli.site_api import SiteAddress, SiteAPI


def answer_calls(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[httpx.Request], httpx.Response], *commands: ModuleType
) -> list[httpx.Request]:
    """Let the commands of these modules call `answer`; the calls that they make."""
    calls: list[httpx.Request] = []

    def record_and_answer(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return answer(request)

    def open_api() -> SiteAPI:
        http = httpx.Client(transport=httpx.MockTransport(record_and_answer))
        return SiteAPI(SiteAddress("http://site", "key"), http)

    for module in commands:
        monkeypatch.setattr(module, "open_site_api", open_api)
    return calls

"""The services' APIs, as commands call them: with the caller's key, and with errors that say what to do."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from pydantic import SecretStr, model_validator

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.providers.http import build_ssl_context
from mailroom_common.settings import TLSSettings
from mailroom_common.transport_security import HTTPSAddress

_TIMEOUT_S = 30.0


class APIClientSettings(TLSSettings):
    """`api_url` is where a reverse proxy routes by path to the services; MAILROOM_PUBLIC_URL where it is not set."""

    # Where the commands reach the APIs; `MAILROOM_PUBLIC_URL` where it is not set.
    api_url: HTTPSAddress
    # Key of the caller: it says whose tenant the commands act for, and what they may do.
    api_key: SecretStr
    # Where providers and browsers reach this site.
    public_url: HTTPSAddress | None = None

    @model_validator(mode="before")
    @classmethod
    def _public_url_by_default(cls, values: object) -> object:
        if isinstance(values, dict) and not values.get("api_url") and values.get("public_url"):
            return {**values, "api_url": values["public_url"]}
        return values


class APIClient:
    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url

    async def call(
        self, method: str, path: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> Any:  # Any: JSON
        """
        Raises:
            Unavailable: no answer, or one that says to come again.
            Rejected: the request is refused; the sentence has the service's own reason.
        """
        try:
            answer = await self._http.request(method, path, json=body, params=query)
        except httpx.HTTPError as error:
            raise Unavailable(
                f"{self._url} does not answer ({type(error).__name__}): check MAILROOM_API_URL"
            ) from error
        if answer.status_code >= 500:
            raise Unavailable(f"{method} {path} answers {answer.status_code}: try again later")
        if answer.status_code >= 400:
            raise Rejected(f"{method} {path} answers {answer.status_code}: {_describe_problem(answer)}")
        return answer.json()


def _describe_problem(answer: httpx.Response) -> str:
    hints = {401: " Check MAILROOM_API_KEY.", 404: " The id may be another tenant's: the key decides the tenant."}
    try:
        problem = answer.json()
        text = ". ".join(str(problem[name]).rstrip(".") for name in ("title", "detail") if problem.get(name))
    except (ValueError, AttributeError, TypeError):
        text = "not one of our services: check MAILROOM_API_URL"
    return f"{text}.{hints.get(answer.status_code, '')}"


@asynccontextmanager
async def open_api(settings: APIClientSettings) -> AsyncIterator[APIClient]:
    url = settings.api_url.rstrip("/")
    async with httpx.AsyncClient(
        base_url=url,
        headers={"Authorization": f"Bearer {settings.api_key.get_secret_value()}"},
        timeout=_TIMEOUT_S,
        verify=build_ssl_context(settings),
        proxy=settings.https_proxy,
        trust_env=False,
    ) as http:
        yield APIClient(http, url)

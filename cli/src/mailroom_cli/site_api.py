"""The services' HTTP APIs as the commands call them: found by the environment, else as a site that runs here.

MAILROOM_API_URL (MAILROOM_PUBLIC_URL where it is not set) and MAILROOM_API_KEY say which site and whose tenant. Without
them the `.mailroom/run/endpoints.json` of a site that `make up` or `make run` started is taken, also for its Kafka.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

import httpx

from mailroom_cli.settings import CommandsSettings
from mailroom_common.errors import Rejected, SettingsError, Unavailable
from mailroom_common.providers.http import build_ssl_context
from mailroom_common.settings import KafkaSettings, load_settings
from mailroom_common.transport_security import is_loopback

_TIMEOUT_S = 30.0
_PAGE_ITEMS = "200"
# Of a site on this machine each service is called itself: its public address may be out of reach from here.
_SERVICE_OF_PATH = {
    "/doc-sources": "subscription_manager",
    "/documents": "ingestion",
    "/trades": "ingestion",
    "/pending-orders": "ingestion",
    "/messages": "sync_engine",
    "/sync-runs": "sync_engine",
    "/sync-states": "sync_engine",
    "/parked-items": "sync_engine",
    "/mail-events": "sync_engine",
}

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SiteAddress:
    """`services` has the addresses of single services, where they are known; everything else is at `url`."""

    url: str
    key: str = field(repr=False)
    services: Mapping[str, str] = field(default_factory=dict)

    def locate_path(self, path: str) -> str:
        prefix = "/" + path.split("/")[1]
        return self.services.get(_SERVICE_OF_PATH.get(prefix, ""), self.url) + path


class SiteAPI:
    """
    Its calls raise:
        Unavailable: no answer, or one that says to try again later.
        Rejected: the request is refused; the sentence has the service's own words.
    """

    def __init__(self, site: SiteAddress, http: httpx.Client) -> None:
        self._site = site
        self._http = http

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    @property
    def url(self) -> str:
        return self._site.url

    def call(
        self,
        method: str,
        path: str,
        *,
        body: JSON | None = None,
        content: bytes | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JSON:
        url = self._site.locate_path(path)
        try:
            answer = self._http.request(
                method,
                url,
                json=body,
                content=content,
                params=query,
                headers={**self._authorization, **(headers or {})},
            )
        except httpx.HTTPError as error:
            raise _describe_silence(url.removesuffix(path), error) from error
        _require_success(method, path, answer)
        content_read: JSON = answer.json()
        return content_read

    def post_decision(self, path: str, action: str, body: JSON, version: int | None) -> JSON:
        """`version` is the one that the person saw; None: the newest one."""
        seen = self.call("GET", path)["version"] if version is None else version
        return self.call("POST", f"{path}/{action}", body=body, headers={"If-Match": f'"{seen}"'})

    def stream_content(self, path: str, query: Mapping[str, str]) -> Iterator[bytes]:
        """The bytes of an answer of any length, as they come."""
        url = self._site.locate_path(path)
        try:
            with self._http.stream("GET", url, params=query, headers=self._authorization) as answer:
                if answer.is_error:
                    answer.read()
                _require_success("GET", path, answer)
                yield from answer.iter_bytes()
        except httpx.HTTPError as error:
            raise _describe_silence(url.removesuffix(path), error) from error

    @property
    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._site.key}"}

    def list_items(self, path: str, query: Mapping[str, str] | None = None, *, most: int | None = None) -> list[JSON]:
        """All items over the pages, or the first `most`."""
        parameters = {"limit": _PAGE_ITEMS if most is None else str(most), **(query or {})}
        found: list[JSON] = []
        while True:
            page = self.call("GET", path, query=parameters)
            found += page["items"]
            if not page["next_cursor"] or (most is not None and len(found) >= most):
                return found[:most]
            parameters["cursor"] = page["next_cursor"]


def open_site_api() -> SiteAPI:
    """
    Raises:
        SettingsError: neither the environment nor a site that runs here says where the API is, and the key to it.
    """
    settings = load_settings(CommandsSettings)
    http = httpx.Client(
        timeout=_TIMEOUT_S, verify=build_ssl_context(settings), proxy=settings.https_proxy, trust_env=False
    )
    return SiteAPI(find_site(settings), http)


def find_site(settings: CommandsSettings) -> SiteAddress:
    """The environment's key goes to the environment's address only, or to a site that this user runs here: a file in
    some folder above must not say where a key is sent."""
    key = settings.api_key.get_secret_value() if settings.api_key else None
    if url := settings.api_url or (settings.public_url if key is not None else None):
        if key is None:
            raise SettingsError("MAILROOM_API_KEY is not set: the key of your tenant for the API.")
        return SiteAddress(url.rstrip("/"), key)
    file = find_endpoints_file()
    if file is None:
        raise SettingsError(
            f"MAILROOM_API_URL is not set, and no site runs here ({_describe_endpoints_file()}): "
            "set it with MAILROOM_API_KEY, or start a site by `make up`."
        )
    here: JSON = json.loads(file.read_text())
    if key is not None and not belongs_to_this_user(file, here):
        if here.get("api_key") is None:
            raise SettingsError(
                f"MAILROOM_API_KEY is not sent to the site of {file.parents[1]}, which another user runs: "
                f"if it is yours, name it by MAILROOM_HOME={file.parents[1]}"
            )
        key = None
    key = here.get("api_key") if key is None else key
    if key is None:
        raise SettingsError(
            "MAILROOM_API_KEY is not set: this site has the MAILROOM_API_KEYS of its environment, which are digests."
        )
    return SiteAddress(here["public"].rstrip("/"), key, _list_services(here))


def belongs_to_this_user(file: Path, here: JSON) -> bool:
    """Or is named by MAILROOM_HOME. A file in some folder above must not say where keys and passwords are sent."""
    is_named = bool(os.environ.get("MAILROOM_HOME"))
    hosts = [urlsplit(url).hostname or "" for url in _list_services(here).values()]
    return (is_named or file.stat().st_uid == os.getuid()) and all(is_loopback(host) for host in hosts)


def _list_services(here: JSON) -> dict[str, str]:
    return {name: here[name] for name in set(_SERVICE_OF_PATH.values())}


def find_endpoints_file() -> Path | None:
    """Of MAILROOM_HOME, else of the current folder or the nearest one above it that has a site."""
    if home := os.environ.get("MAILROOM_HOME"):
        candidates = [Path(home)]
    else:
        candidates = [folder / ".mailroom" for folder in (Path.cwd(), *Path.cwd().parents)]
    files = (candidate / "run" / "endpoints.json" for candidate in candidates)
    return next((file for file in files if file.is_file()), None)


def _describe_endpoints_file() -> str:
    return f"{os.environ.get('MAILROOM_HOME') or '.mailroom'}/run/endpoints.json"


def load_kafka_settings() -> KafkaSettings:
    """As the environment has them; where it names no broker, the Kafka of a site that runs here.

    Raises:
        SettingsError: there is neither, or a setting is wrong.
    """
    bootstrap = "MAILROOM_KAFKA_BOOTSTRAP"
    if os.environ.get(bootstrap):
        return load_settings(KafkaSettings)
    file = find_endpoints_file()
    if file is None:
        raise SettingsError(
            f"{bootstrap} is not set, and no site runs here ({_describe_endpoints_file()}): "
            "set it with the other MAILROOM_KAFKA_ settings, or start a site by `make up`."
        )
    here: JSON = json.loads(file.read_text())
    has_password = any(os.environ.get(f"MAILROOM_KAFKA_PASSWORD{suffix}") for suffix in ("", "_FILE"))
    if not is_loopback(urlsplit(f"//{here['kafka']}").hostname or "") or (
        has_password and not belongs_to_this_user(file, here)
    ):
        raise SettingsError(f"{bootstrap} is not set: Kafka of the site of {file} is not used unless it is named.")
    return load_settings(KafkaSettings, kafka_bootstrap=here["kafka"])


def quote_segment(text: str) -> str:
    return quote(text, safe="")


def _describe_silence(url: str, error: httpx.HTTPError) -> Unavailable:
    return Unavailable(
        f"{url} does not answer ({type(error).__name__}): is the site running, and is MAILROOM_API_URL its address?"
    )


def _require_success(method: str, path: str, answer: httpx.Response) -> None:
    if answer.is_error:
        sentence = f"{method} {path} answers {answer.status_code}: {_describe_problem(answer)}"
        raise Unavailable(sentence) if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR else Rejected(sentence)


def _describe_problem(answer: httpx.Response) -> str:
    try:
        problem = answer.json()
        sentences = [str(problem[name]).rstrip(".") for name in ("title", "detail") if problem.get(name)]
        if problem.get("title") == "Malformed id":
            # Its errors say the same in a parser's words.
            return ". ".join([*sentences, "Lists show the whole id; the beginning of one is not enough here."])
        sentences += [f"{'.'.join(wrong['loc'][1:])}: {wrong['msg']}" for wrong in problem.get("errors", [])]
    except (ValueError, AttributeError, TypeError, KeyError):
        return "this is none of Mailroom's services: check MAILROOM_API_URL"
    return ". ".join(sentences) + "."

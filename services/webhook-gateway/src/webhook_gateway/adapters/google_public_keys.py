"""Google's public keys in memory, refreshed in the background, so that no push waits for a call to Google."""

import asyncio
import re
from collections.abc import Mapping

import httpx
import jwt
import orjson

from mailroom_common.errors import Unavailable
from mailroom_common.logs import get_logger
from mailroom_common.metrics import GATEWAY_KEY_FETCHES

log = get_logger()

_MAX_AGE = re.compile(r"max-age=(\d+)")
# The keys are kept as long as `Cache-Control` says, within these bounds.
_MIN_FRESH_S, _DEFAULT_FRESH_S, _MAX_FRESH_S = 60.0, 3600.0, 6 * 3600.0
_FIRST_RETRY_S, _MAX_RETRY_S = 1.0, 60.0
# An unknown key id may be that of a new key. It may also be invented, which costs an attacker nothing.
_MIN_S_BETWEEN_FORCED_FETCHES = 60.0


class GooglePublicKeys:
    def __init__(self, http: httpx.AsyncClient, certs_url: str) -> None:
        self._http = http
        self._certs_url = certs_url
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetch_requested = asyncio.Event()
        self._fetch_attempted = asyncio.Event()
        self._forced_at_s: float | None = None

    async def refresh_keys(self) -> None:
        """Fetch the keys whenever they are old or a fetch is requested, until cancelled."""
        retry_s = _FIRST_RETRY_S
        while True:
            try:
                wait_s = await self._fetch_keys()
                retry_s = _FIRST_RETRY_S
                GATEWAY_KEY_FETCHES.labels("ok").inc()
            except (httpx.HTTPError, jwt.PyJWTError, ValueError, KeyError) as error:
                wait_s, retry_s = retry_s, min(retry_s * 2, _MAX_RETRY_S)
                GATEWAY_KEY_FETCHES.labels("failed").inc()
                # Keys that are at hand stay valid; without any, pushes that need a signature get 503.
                log.warning("google_key_fetch_failed", error=type(error).__name__, retry_in_s=wait_s)
            finally:
                self._fetch_attempted.set()
            self._fetch_requested.clear()
            await _wait_for_event(self._fetch_requested, wait_s)

    async def find_key(self, key_id: str, *, timeout_s: float) -> jwt.PyJWK | None:
        """The key, or None when Google has no such key as far as we may ask.

        Raises:
            Unavailable: no key at all could be fetched yet, so no token can be judged.
        """
        if key_id not in self._keys and self._may_force_fetch():
            self._fetch_attempted.clear()
            self._fetch_requested.set()
            await self.wait_for_fetch(timeout_s)
        if not self._keys:
            raise Unavailable("Google's keys are not fetched yet")
        return self._keys.get(key_id)

    async def wait_for_fetch(self, timeout_s: float) -> None:
        """Return after the next attempt at a fetch, successful or not, or after the timeout."""
        await _wait_for_event(self._fetch_attempted, timeout_s)

    def _may_force_fetch(self) -> bool:
        now_s = asyncio.get_running_loop().time()
        if self._forced_at_s is not None and now_s - self._forced_at_s < _MIN_S_BETWEEN_FORCED_FETCHES:
            return False
        self._forced_at_s = now_s
        return True

    async def _fetch_keys(self) -> float:
        """Replace the keys and return for how many seconds they are fresh. A failed fetch keeps the old ones."""
        response = await self._http.get(self._certs_url)
        response.raise_for_status()
        keys = jwt.PyJWKSet.from_dict(orjson.loads(response.content)).keys
        self._keys = {key.key_id: key for key in keys if key.key_id and key.key_type == "RSA"}
        return parse_fresh_s(response.headers)


def parse_fresh_s(headers: Mapping[str, str]) -> float:
    max_age = _MAX_AGE.search(headers.get("cache-control", ""))
    return min(max(float(max_age[1]) if max_age else _DEFAULT_FRESH_S, _MIN_FRESH_S), _MAX_FRESH_S)


async def _wait_for_event(event: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return

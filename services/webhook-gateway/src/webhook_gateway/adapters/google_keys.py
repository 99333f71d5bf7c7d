"""Google's public keys in memory, fetched in the background: no request of ours waits on a call to Google."""

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
_LEAST_S, _MOST_S = 60.0, 6 * 3600.0
_FIRST_RETRY_S = 1.0
# A token with a key id that we do not know may be of a new key, or made up: asking is free for whoever made it up.
_FORCED_AT_MOST_EVERY_S = 60.0


class GoogleKeys:
    """`run` keeps them fresh, by what the answer's `Cache-Control` says."""

    def __init__(self, http: httpx.AsyncClient, certs_url: str) -> None:
        self._http = http
        self._certs_url = certs_url
        self._keys: dict[str, jwt.PyJWK] = {}
        self._wanted = asyncio.Event()
        self._fetched = asyncio.Event()
        self._forced_at_s: float | None = None

    async def run(self) -> None:
        """Until cancelled."""
        retry_s = _FIRST_RETRY_S
        while True:
            try:
                rest_s = await self._fetch()
                retry_s = _FIRST_RETRY_S
                GATEWAY_KEY_FETCHES.labels("ok").inc()
            except (httpx.HTTPError, jwt.PyJWTError, ValueError, KeyError) as error:
                rest_s, retry_s = retry_s, min(retry_s * 2, _LEAST_S)
                GATEWAY_KEY_FETCHES.labels("failed").inc()
                log.warning("google_keys_not_fetched", error=type(error).__name__, again_in_s=rest_s)
            finally:
                self._fetched.set()
            self._wanted.clear()
            try:
                async with asyncio.timeout(rest_s):
                    await self._wanted.wait()
            except TimeoutError:
                continue  # they are old enough

    async def key(self, key_id: str, *, wait_s: float) -> jwt.PyJWK | None:
        """None for a key that Google does not have, as far as we may ask.

        Raises:
            Unavailable: no keys at all could be fetched yet, so no token can be judged.
        """
        if key_id not in self._keys and self._may_force():
            self._fetched.clear()
            self._wanted.set()
            await _within(self._fetched, wait_s)
        if not self._keys:
            raise Unavailable("Google's keys are not fetched yet")
        return self._keys.get(key_id)

    def _may_force(self) -> bool:
        now_s = asyncio.get_running_loop().time()
        if self._forced_at_s is not None and now_s - self._forced_at_s < _FORCED_AT_MOST_EVERY_S:
            return False
        self._forced_at_s = now_s
        return True

    async def _fetch(self) -> float:
        """Replaces the keys and returns how many seconds they are good for. Failures keep the old ones."""
        answer = await self._http.get(self._certs_url)
        answer.raise_for_status()
        found = jwt.PyJWKSet.from_dict(orjson.loads(answer.content)).keys
        self._keys = {key.key_id: key for key in found if key.key_id and key.key_type == "RSA"}
        return _fresh_for_s(answer.headers)


def _fresh_for_s(headers: Mapping[str, str]) -> float:
    told = _MAX_AGE.search(headers.get("cache-control", ""))
    return min(max(float(told[1]) if told else 3600.0, _LEAST_S), _MOST_S)


async def _within(event: asyncio.Event, wait_s: float) -> None:
    try:
        async with asyncio.timeout(wait_s):
            await event.wait()
    except TimeoutError:
        return

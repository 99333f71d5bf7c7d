"""API keys: who is calling, for which tenant, and with which role."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from typing import Self

from fastapi import Request

from mailroom_common.errors import SettingsError
from mailroom_common.web import HTTPProblem

_KEY_ID_DIGITS = 12


class Role(IntEnum):
    """Each may do what those before it may."""

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Caller:
    """`key_id` is the beginning of the key's digest: which of the tenant's keys was used, for what people decide."""

    tenant_id: str
    role: Role
    key_id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class _Key:
    digest: bytes = field(repr=False)
    caller: Caller


@dataclass(frozen=True, slots=True)
class APIKeys:
    """Only digests of keys are configured and kept, so no setting, dump or log can reveal a key."""

    _keys: tuple[_Key, ...]

    @classmethod
    def parse_keys(cls, text: str) -> Self:
        """Comma-separated `tenant:role:sha256-hex-of-the-key`; a tenant may have any number of keys.

        Raises:
            SettingsError: an entry has another form.
        """
        return cls(
            tuple(_parse_key(number, entry.strip()) for number, entry in enumerate(text.split(","), 1) if entry.strip())
        )

    def find_caller(self, key: str) -> Caller | None:
        digest = sha256(key.encode()).digest()
        match = None
        # All keys are compared, always: the time that it takes does not reveal which one matched.
        for candidate in self._keys:
            if hmac.compare_digest(candidate.digest, digest):
                match = candidate.caller
        return match


def _parse_key(number: int, entry: str) -> _Key:
    try:
        tenant, role, digest = entry.rsplit(":", 2)
        parsed = _Key(bytes.fromhex(digest), Caller(tenant, Role[role.upper()], digest[:_KEY_ID_DIGITS].lower()))
    except (ValueError, KeyError):
        parsed = None
    if parsed is None or not parsed.caller.tenant_id or len(parsed.digest) != sha256().digest_size:
        raise SettingsError(
            f"MAILROOM_API_KEYS is wrong in entry {number}: tenant:role:sha256-hex-of-the-key is needed, "
            "with the role viewer, operator or admin."
        )
    return parsed


def _unauthenticated(title: str, detail: str, reason: str = "") -> HTTPProblem:
    return HTTPProblem(401, title, detail, headers={"WWW-Authenticate": f'Bearer realm="mailroom"{reason}'})


def require_role(keys: APIKeys, role: Role) -> Callable[[Request], Awaitable[Caller]]:
    """A FastAPI dependency: `caller: Annotated[Caller, Depends(requires(keys, Role.VIEWER))]`."""

    async def authenticate_caller(request: Request) -> Caller:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise _unauthenticated("An API key is needed", "Send it as `Authorization: Bearer KEY`.")
        caller = keys.find_caller(key.strip())
        if caller is None:
            # By RFC 6750 a key that is wrong is told from one that is missing.
            raise _unauthenticated(
                "This API key is wrong", "It is none of MAILROOM_API_KEYS.", ', error="invalid_token"'
            )
        if caller.role < role:
            raise HTTPProblem(403, "This key may not do that", f"The role {role.name.lower()} is needed.")
        return caller

    return authenticate_caller

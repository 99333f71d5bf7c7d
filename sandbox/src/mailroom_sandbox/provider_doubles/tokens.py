"""Codes and tokens of both identity providers: who may do what, and until when. Values are kept as digests only."""

import hashlib
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from mailroom_sandbox.provider_doubles.fault_switchboard import Faults
from mailroom_sandbox.provider_doubles.faults import RefreshFault
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.wire import to_ms

Kind = Literal["access", "refresh"]


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a token speaks for. `user_id` is None for an application by itself."""

    provider: str
    user_id: str | None
    tenant_id: str
    client_id: str
    scopes: frozenset[str]
    grant_id: str


@dataclass(frozen=True, slots=True)
class StoredToken:
    """`problem` is None for a living token, else `unknown`, `expired` or the reason it died of."""

    holder: Holder | None
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRecord:
    """What a person agreed to on the page; a code stands for it."""

    provider: str
    user_id: str
    tenant_id: str
    client_id: str
    redirect_uri: str
    scopes: frozenset[str]
    nonce: str | None
    challenge: str | None
    challenge_method: str | None
    wants_refresh: bool


CODE_LIFETIME = timedelta(minutes=10)


class Tokens:
    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._last_uses: dict[str, datetime] = {}

    def issue_code(self, consent: ConsentRecord) -> str:
        code = f"{secrets.token_urlsafe(32)}.AQ"
        self._store.execute_sql(
            "insert into authorization_code values (?,?,?,?,?,?,?,?,?,?,?,?,null)",
            code,
            consent.provider,
            consent.user_id,
            consent.client_id,
            consent.redirect_uri,
            " ".join(sorted(consent.scopes)),
            consent.nonce,
            consent.challenge,
            consent.challenge_method,
            consent.tenant_id,
            int(consent.wants_refresh),
            to_ms(self._now() + CODE_LIFETIME),
        )
        return code

    def find_consent(self, provider: str, code: str) -> tuple[ConsentRecord | None, str | None]:
        """The consent, or why not: `unknown`, `expired`, `used`."""
        row = self._store.select_row("select * from authorization_code where code = ? and provider = ?", code, provider)
        if row is None:
            return None, "unknown"
        if row["grant_id"] is not None:
            return None, "used"
        if row["expires_ms"] <= to_ms(self._now()):
            return None, "expired"
        consent = ConsentRecord(
            provider=provider,
            user_id=row["user_id"],
            tenant_id=row["tenant"],
            client_id=row["client_id"],
            redirect_uri=row["redirect_uri"],
            scopes=frozenset(row["scopes"].split()),
            nonce=row["nonce"],
            challenge=row["challenge"],
            challenge_method=row["challenge_method"],
            wants_refresh=bool(row["wants_refresh"]),
        )
        return consent, None

    def redeem_code(self, code: str, consent: ConsentRecord) -> Holder:
        """A code is good once; the grant that it opened is remembered with it."""
        grant_id = str(uuid.uuid4())
        self._store.execute_sql("update authorization_code set grant_id = ? where code = ?", grant_id, code)
        return Holder(consent.provider, consent.user_id, consent.tenant_id, consent.client_id, consent.scopes, grant_id)

    def store_token(self, kind: Kind, value: str, holder: Holder, lifetime: timedelta) -> None:
        issued = self._now()
        self._store.execute_sql(
            "insert into token values (?,?,?,?,?,?,?,?,?,?,null)",
            hash_token(value),
            kind,
            holder.provider,
            holder.user_id,
            holder.tenant_id,
            holder.client_id,
            " ".join(sorted(holder.scopes)),
            holder.grant_id,
            to_ms(issued),
            to_ms(issued + lifetime),
        )

    def find_token(self, kind: Kind, provider: str, value: str) -> StoredToken:
        row = self._store.select_row(
            "select * from token where token_sha256 = ? and kind = ? and provider = ?",
            hash_token(value),
            kind,
            provider,
        )
        if row is None:
            return StoredToken(None, "unknown")
        holder = Holder(
            provider,
            row["user_id"],
            row["tenant_id"],
            row["client_id"],
            frozenset(row["scopes"].split()),
            row["grant_id"],
        )
        if row["dead"]:
            return StoredToken(holder, row["dead"])
        return StoredToken(holder, "expired" if row["expires_ms"] <= to_ms(self._now()) else None)

    def revoke_token(self, value: str, reason: str) -> None:
        self._store.execute_sql("update token set dead = ? where token_sha256 = ?", reason, hash_token(value))

    def seconds_since_last_use(self, value: str) -> float | None:
        """Of a refresh token, which counts as used now; None for the first time. A restart forgets."""
        digest, now = hash_token(value), self._now()
        last = self._last_uses.get(digest)
        self._last_uses[digest] = now
        return (now - last).total_seconds() if last else None

    def is_used_in_parallel(self, value: str, mailbox: str | None, faults: Faults) -> bool:
        """Whether the `refresh` switch refuses this use of a refresh token."""
        pause_s = self.seconds_since_last_use(value)
        fault = faults.use_fault_once(
            RefreshFault,
            mailbox,
            lambda fault: fault.mode == "refused_in_parallel" and pause_s is not None and pause_s < fault.within_s,
        )
        return fault is not None

    def expire_access(self, provider: str, user_id: str | None) -> int:
        """Ends access tokens now, of one user or of all and of the applications too; refresh tokens stay."""
        return self._store.execute_sql(
            "update token set expires_ms = 0 where kind = 'access' and provider = ? and (? is null or user_id = ?)",
            provider,
            user_id,
            user_id,
        )

    def revoke_user_grants(self, provider: str, user_id: str, client_id: str | None = None, *, access_too: bool) -> int:
        """Ends all grants of a user; Microsoft lets access tokens live on until they expire."""
        self._store.execute_sql(
            "delete from consented where provider = ? and user_id = ? and client_id = coalesce(?, client_id)",
            provider,
            user_id,
            client_id,
        )
        return self._store.execute_sql(
            "update token set dead = 'revoked' where provider = ? and user_id = ? and dead is null"
            " and client_id = coalesce(?, client_id) and (kind = 'refresh' or ?)",
            provider,
            user_id,
            client_id,
            int(access_too),
        )

    def list_living_refresh_tokens(self, provider: str, user_id: str, client_id: str) -> list[str]:
        """Digests, oldest first."""
        rows = self._store.select_rows(
            "select token_sha256 from token where kind = 'refresh' and provider = ? and user_id = ? and client_id = ?"
            " and dead is null order by issued_ms, rowid",
            provider,
            user_id,
            client_id,
        )
        return [row["token_sha256"] for row in rows]

    def kill_digest(self, token_sha256: str, reason: str) -> None:
        self._store.execute_sql("update token set dead = ? where token_sha256 = ?", reason, token_sha256)

    def record_consent(self, provider: str, user_id: str, client_id: str) -> bool:
        """True the first time that this user lets this client in (and remembers it)."""
        return bool(
            self._store.execute_sql("insert or ignore into consented values (?, ?, ?)", provider, user_id, client_id)
        )


def hash_token(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()

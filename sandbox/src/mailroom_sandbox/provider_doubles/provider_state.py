"""What all parts of the providers share. Built in `app.py`, or by a test with a clock of its own."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx

from mailroom_sandbox.provider_doubles.calls import CallLedger
from mailroom_sandbox.provider_doubles.fault_switchboard import Faults
from mailroom_sandbox.provider_doubles.keys import SigningKey, load_key, load_secret
from mailroom_sandbox.provider_doubles.push_dispatcher import PushDispatcher
from mailroom_sandbox.provider_doubles.settings import ProvidersSettings
from mailroom_sandbox.provider_doubles.store import Store
from mailroom_sandbox.provider_doubles.tokens import Tokens
from mailroom_sandbox.provider_doubles.wire import TokenSeal

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class ProviderState:
    settings: ProvidersSettings
    now: Clock
    store: Store
    seal: TokenSeal
    tokens: Tokens
    faults: Faults
    calls: CallLedger
    dispatcher: PushDispatcher
    http: httpx.AsyncClient
    microsoft_key: SigningKey
    google_key: SigningKey
    service_account_key: SigningKey


SIGNING_KEYS = ("microsoft-signing", "google-signing", "google-service-account")  # by their files' names


def utc_now() -> datetime:
    return datetime.now(UTC)


def build_provider_state(settings: ProvidersSettings, now: Clock = utc_now) -> ProviderState:
    store = Store(settings.state)
    microsoft_key, google_key, service_account_key = (load_key(settings.state, name) for name in SIGNING_KEYS)
    trust = ssl.create_default_context(cafile=settings.ca_bundle)
    return ProviderState(
        settings=settings,
        now=now,
        store=store,
        seal=TokenSeal(load_secret(settings.state, "seal")),
        tokens=Tokens(store, now),
        faults=Faults(store),
        calls=CallLedger(store, now),
        dispatcher=PushDispatcher(store, now),
        http=httpx.AsyncClient(verify=trust, trust_env=False, follow_redirects=False),
        microsoft_key=microsoft_key,
        google_key=google_key,
        service_account_key=service_account_key,
    )

"""Rows of the service's tables to connections and back."""

from datetime import datetime
from typing import Any

import asyncpg

from mailroom_common.events import Access, ClientState, Profile, Provider
from subscription_manager.domain.connection import Connection, CurrentSubscription, State, Status, SubscriptionStatus

# Any below: what asyncpg writes to columns.


def connection_of(row: asyncpg.Record) -> Connection:
    return Connection(
        id=str(row["id"]),
        tenant_id=row["tenant_id"],
        provider=Provider(row["provider"]),
        profile=Profile(row["profile"]),
        access=Access(row["access"]),
        state=State(row["state"]),
        created_at=row["created_at"],
        version=row["version"],
        address=row["address"],
        aliases=tuple(row["aliases"]),
        provider_user_id=row["provider_user_id"],
        provider_tenant=row["provider_tenant"],
        folders=tuple(row["folders"]),
        start_at=row["start_at"],
        grant_generation=row["grant_generation"],
        status=None if row["connection_status"] is None else Status(row["connection_status"]),
        reason=row["connection_reason"],
        last_error=row["last_error"],
        last_successful_sync_at=row["last_successful_sync_at"],
        client_states=tuple(
            ClientState(sha256=known["sha256"], valid_until=datetime.fromisoformat(known["valid_until"]))
            for known in row["client_states"]
        ),
        subscription=None if row["subscription_id"] is None else _subscription_of(row),
        attention_at=row["attention_at"],
        attempts=row["attempts"],
        backstop_at=row["backstop_at"],
        ended_at=row["ended_at"],
        forgotten_at=row["forgotten_at"],
    )


def _subscription_of(row: asyncpg.Record) -> CurrentSubscription:
    return CurrentSubscription(
        subscription_id=row["subscription_id"],
        resource=row["resource"],
        expires_at=row["expires_at"],
        touched_at=row["touched_at"],
        notification_url=row["notification_url"],
        lifecycle_url=row["lifecycle_url"],
        status=SubscriptionStatus(row["status"]),
        client_state_sha256=row["client_state_sha256"],
        renew_asked_at=row["renew_asked_at"],
        renewals=row["renewals"],
    )


def doc_source_values(of: Connection) -> tuple[Any, ...]:
    return (
        of.id,
        of.tenant_id,
        of.provider.value,
        of.profile.value,
        of.access.value,
        of.state.value,
        of.version,
        of.provider_user_id,
        of.provider_tenant,
        list(of.folders),
        of.start_at,
        of.grant_generation,
        [{"sha256": known.sha256, "valid_until": known.valid_until.isoformat()} for known in of.client_states],
        of.attention_at,
        of.attempts,
        of.backstop_at,
        of.ended_at,
        of.forgotten_at,
        of.created_at,
    )


def email_values(of: Connection) -> tuple[Any, ...]:
    return (
        of.id,
        of.provider.value,
        of.address,
        list(of.aliases),
        of.provider_user_id,
        None if of.status is None else of.status.value,
        of.reason,
        of.last_error,
        of.last_successful_sync_at,
    )


def subscription_values(doc_source_id: str, of: CurrentSubscription) -> tuple[Any, ...]:
    return (
        doc_source_id,
        of.subscription_id,
        of.resource,
        of.notification_url,
        of.lifecycle_url,
        of.expires_at,
        of.status.value,
        of.client_state_sha256,
        of.touched_at,
        of.renew_asked_at,
        of.renewals,
    )

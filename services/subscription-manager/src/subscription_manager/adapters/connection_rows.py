"""Connections to the columns of the service's tables and back."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

import asyncpg

from mailroom_common.events import Access, ClientState, Profile, Relist, SourceFilter
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    ConnectionStatus,
    CurrentSubscription,
    PendingReason,
    SubscriptionStatus,
    Trouble,
    TroubleReason,
)

# Any below: what asyncpg writes to columns.


def parse_connection(row: asyncpg.Record) -> Connection:
    # The columns of the status say why a doc source is pending while it has no status: they are derived otherwise.
    pending_reason = row["connection_reason"] if row["connection_status"] is None else None
    return Connection(
        id=str(row["id"]),
        tenant_id=row["tenant_id"],
        provider=row["provider"],
        profile=Profile(row["profile"]),
        access=Access(row["access"]),
        state=ConnectionState(row["state"]),
        created_at=row["created_at"],
        published_version=row["published_version"],
        address=row["address"],
        aliases=tuple(row["aliases"]),
        provider_user_id=row["provider_user_id"],
        provider_tenant=row["provider_tenant"],
        folders=tuple(row["folders"]),
        start_at=row["start_at"],
        filter=_parse_filter(row["filter"]),
        grant_generation=row["grant_generation"],
        relist_from=row["relist_from"],
        relist_number=row["relist_number"],
        earlier_relists=tuple(
            Relist(number=relist["number"], relist_from=datetime.fromisoformat(relist["relist_from"]))
            for relist in row["earlier_relists"]
        ),
        pending_reason=None if pending_reason is None else PendingReason(pending_reason),
        pending_error=row["current_error"] if row["connection_status"] is None else None,
        sync_trouble=_parse_trouble(row["sync_trouble"]),
        subscription_trouble=_parse_trouble(row["subscription_trouble"]),
        last_successful_sync_at=row["last_successful_sync_at"],
        client_states=tuple(
            ClientState(sha256=known["sha256"], valid_until=datetime.fromisoformat(known["valid_until"]))
            for known in row["client_state_hashes"]
        ),
        subscription=None if row["subscription_id"] is None else _parse_subscription(row),
        next_check_at=row["next_check_at"],
        failed_attempts=row["failed_attempts"],
        next_backstop_at=row["next_backstop_at"],
        provider_ended_at=row["provider_ended_at"],
        sync_rows_deleted_at=row["sync_rows_deleted_at"],
        version_before_deletion=row["version_before_deletion"],
    )


def _parse_filter(rules: dict[str, Any]) -> SourceFilter:
    """A key that is unknown here was written by a newer version, before a rollback."""
    names = SourceFilter.__dataclass_fields__
    return SourceFilter(**{name: value for name, value in rules.items() if name in names})


def _parse_trouble(trouble: dict[str, str] | None) -> Trouble | None:
    if trouble is None:
        return None
    return Trouble(
        status=ConnectionStatus(trouble["status"]),
        reason=TroubleReason(trouble["reason"]),
        error=trouble["error"],
        since=datetime.fromisoformat(trouble["since"]),
    )


def _parse_subscription(row: asyncpg.Record) -> CurrentSubscription:
    return CurrentSubscription(
        subscription_id=row["subscription_id"],
        resource=row["resource"],
        expires_at=row["expires_at"],
        created_or_renewed_at=row["created_or_renewed_at"],
        notification_url=row["notification_url"],
        lifecycle_url=row["lifecycle_url"],
        status=SubscriptionStatus(row["status"]),
        client_state_sha256=row["client_state_sha256"],
        renewal_requested_at=row["renewal_requested_at"],
        renewal_count=row["renewal_count"],
    )


def doc_source_values(connection: Connection) -> tuple[Any, ...]:
    return (
        connection.id,
        connection.tenant_id,
        connection.provider,
        connection.profile.value,
        connection.access.value,
        connection.state.value,
        connection.published_version,
        connection.provider_user_id,
        connection.provider_tenant,
        list(connection.folders),
        connection.start_at,
        connection.grant_generation,
        [{"sha256": known.sha256, "valid_until": known.valid_until.isoformat()} for known in connection.client_states],
        connection.next_check_at,
        connection.failed_attempts,
        connection.next_backstop_at,
        connection.provider_ended_at,
        connection.sync_rows_deleted_at,
        connection.created_at,
        connection.relist_from,
        connection.relist_number,
        [
            {"number": relist.number, "relist_from": relist.relist_from.isoformat()}
            for relist in connection.earlier_relists
        ],
        connection.version_before_deletion,
        asdict(connection.filter),
    )


def email_values(connection: Connection) -> tuple[Any, ...]:
    status = connection.connection_status
    return (
        connection.id,
        connection.provider,
        connection.address,
        list(connection.aliases),
        connection.provider_user_id,
        None if status is None else status.value,
        connection.connection_reason,
        connection.current_error,
        connection.last_successful_sync_at,
        _build_trouble(connection.sync_trouble),
        _build_trouble(connection.subscription_trouble),
    )


def _build_trouble(trouble: Trouble | None) -> dict[str, str] | None:
    return None if trouble is None else {**asdict(trouble), "since": trouble.since.isoformat()}


def subscription_values(doc_source_id: str, subscription: CurrentSubscription) -> tuple[Any, ...]:
    return (
        doc_source_id,
        subscription.subscription_id,
        subscription.resource,
        subscription.notification_url,
        subscription.lifecycle_url,
        subscription.expires_at,
        subscription.status.value,
        subscription.client_state_sha256,
        subscription.created_or_renewed_at,
        subscription.renewal_requested_at,
        subscription.renewal_count,
    )

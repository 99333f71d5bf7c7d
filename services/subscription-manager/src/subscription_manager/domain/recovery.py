"""What a table that was restored from a backup takes from `doc-sources`, which is newer: the last word of the operator.

Lost are grants that were given and addresses that were confirmed since the backup; the topic holds no secret.
"""

from dataclasses import replace
from datetime import datetime

from mailroom_common.events import Access, DocSource, DocSourceState
from subscription_manager.domain.connection import Connection, ConnectionState, PendingReason
from subscription_manager.domain.transitions import begin_deletion, mark_subscription_removed


def adopt_newer_record(
    connection: Connection, record: DocSource | None, published_version: int, now: datetime
) -> Connection:
    """The restored connection with what was changed since; None is the tombstone of one that was deleted.
    `published_version` is that of the record or tombstone."""
    if record is None or record.state is DocSourceState.DELETING:
        deleting = connection if connection.state is ConnectionState.DELETING else begin_deletion(connection, now)
        # `forgotten` may be read again which answered the first deletion, of rows that were restored too.
        return replace(deleting, version_before_deletion=published_version)
    # Of both: pushes of a subscription that only one of them knows are genuine all the same.
    client_states = {known.sha256: known for known in (*connection.client_states, *record.client_states)}
    adopted = replace(
        connection,
        state=_adopt_state(connection.state, record.state),
        folders=tuple(record.folders),
        start_at=record.start_at or connection.start_at,
        filter=record.filter,
        client_states=tuple(client_states.values()),
    )
    if record.relist_number > connection.relist_number:
        # Asked for since: what sync-engine's restored tables have not begun is still to be done.
        adopted = replace(
            adopted,
            relist_from=record.relist_from,
            relist_number=record.relist_number,
            earlier_relists=tuple(record.earlier_relists),
        )
    if adopted.state is ConnectionState.PENDING:
        is_consent_lost = record.state is not DocSourceState.PENDING
        return replace(adopted, pending_reason=PendingReason.CONSENT_LOST) if is_consent_lost else adopted
    # What happened at the provider since is found by a check and a sync.
    adopted = replace(adopted, next_check_at=now, next_backstop_at=now)
    if adopted.subscription is not None and adopted.subscription_id != record.subscription_id:
        return mark_subscription_removed(adopted, now)
    return adopted


def rebuild_from_record(record: DocSource, now: datetime) -> Connection:
    """A doc source that was made since the backup. Application access goes on; of a consent the grant is lost, so it
    is asked for again, by the same doc source and for the same mailbox."""
    is_application = record.access is Access.APPLICATION and record.state is not DocSourceState.PENDING
    state = ConnectionState(record.state.value) if is_application else ConnectionState.PENDING
    return Connection(
        id=record.doc_source_id,
        tenant_id=record.tenant_id,
        provider=record.provider,
        profile=record.profile,
        access=record.access,
        state=state,
        created_at=now,
        published_version=record.version,
        address=record.address,
        aliases=tuple(record.aliases),
        # Before a consent nobody knows the user; the address is what the consent is held to.
        provider_user_id=record.provider_user_id if is_application else None,
        provider_tenant=record.provider_tenant,
        folders=tuple(record.folders),
        start_at=record.start_at,
        filter=record.filter,
        grant_generation=record.grant_generation,
        relist_from=record.relist_from,
        relist_number=record.relist_number,
        earlier_relists=tuple(record.earlier_relists),
        pending_reason=None if is_application else PendingReason.CONSENT_LOST,
        client_states=tuple(record.client_states),
        next_check_at=now if is_application else None,
        next_backstop_at=now if is_application else None,
    )


def _adopt_state(restored: ConnectionState, published: DocSourceState) -> ConnectionState:
    """Paused and resumed since; a consent that came since is lost with its grant."""
    if restored in (ConnectionState.ACTIVE, ConnectionState.PAUSED) and published in (
        DocSourceState.ACTIVE,
        DocSourceState.PAUSED,
    ):
        return ConnectionState(published.value)
    return restored

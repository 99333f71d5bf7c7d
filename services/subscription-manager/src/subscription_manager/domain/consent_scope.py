"""What the person who consents hands over: whose mailbox, for what, from when, and which folders."""

from hashlib import sha256

from subscription_manager.domain.connection import Connection


def hash_consent_scope(connection: Connection) -> str:
    """Changes with whatever the consent page says: an operator may correct a doc source while somebody looks at it."""
    start_at = None if connection.start_at is None else connection.start_at.isoformat()
    scope = (connection.address, connection.profile.value, start_at, *connection.folders)
    return sha256(repr(scope).encode()).hexdigest()

"""Where application access may go: no user consents to it, so the operator says for each tenant what it reaches."""

from dataclasses import dataclass

from mailroom_common.events import Provider


@dataclass(frozen=True, slots=True)
class Reach:
    """Lower case. `provider_tenants` are Microsoft's (a GUID or a domain), `domains` those of addresses."""

    provider_tenants: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()


def refusal(reach: Reach, provider: Provider, *, address: str, provider_tenant: str | None) -> str | None:
    """Why a mailbox may not be reached, None when it may. Nothing is reached that nobody allowed."""
    domain = address.rpartition("@")[2].lower()
    if provider is Provider.GMAIL:
        # Delegation reaches a whole Workspace, so there the domain is the only fence.
        return None if domain in reach.domains else f"this tenant may not reach mailboxes of {domain}"
    if (provider_tenant or "").lower() not in reach.provider_tenants:
        return "this tenant may not reach that provider tenant"
    if reach.domains and domain not in reach.domains:
        return f"this tenant may not reach mailboxes of {domain}"
    return None

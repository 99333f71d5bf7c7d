"""Which mailboxes application access may open: no user consents to it, so the operator says so for each tenant."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApplicationAccessPolicy:
    """What one tenant may open, in lower case: `provider_tenants` by GUID or domain, `domains` of addresses."""

    provider_tenants: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()

    def explain_refusal(self, address: str, provider_tenant: str | None, *, has_provider_tenants: bool) -> str | None:
        """Why a mailbox may not be opened, None when it may. Nothing is open that nobody allowed.

        `has_provider_tenants`: the provider separates its customers by tenants. Where it does not, the application
        reaches whole domains, and the domain is the only boundary.
        """
        domain = address.rpartition("@")[2].lower()
        refused_domain = f"this tenant may not open mailboxes of {domain}"
        if not has_provider_tenants:
            return None if domain in self.domains else refused_domain
        if (provider_tenant or "").lower() not in self.provider_tenants:
            return "this tenant may not open mailboxes of that provider tenant"
        if self.domains and domain not in self.domains:
            return refused_domain
        return None

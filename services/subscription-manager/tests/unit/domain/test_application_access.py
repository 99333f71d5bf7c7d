import pytest

from subscription_manager.domain.application_access import ApplicationAccessPolicy

TENANT_ONLY = ApplicationAccessPolicy(frozenset({"contoso-id"}))
BOTH = ApplicationAccessPolicy(frozenset({"contoso-id"}), frozenset({"contoso.example"}))
DOMAIN_ONLY = ApplicationAccessPolicy(domains=frozenset({"contoso.example"}))
NOTHING = ApplicationAccessPolicy()


@pytest.mark.parametrize(
    ("policy", "address", "provider_tenant", "is_allowed"),
    [
        (TENANT_ONLY, "a@anywhere.example", "contoso-id", True),
        (TENANT_ONLY, "a@anywhere.example", "CONTOSO-ID", True),
        (TENANT_ONLY, "a@anywhere.example", "fabrikam-id", False),
        (TENANT_ONLY, "a@anywhere.example", None, False),
        (BOTH, "a@contoso.example", "contoso-id", True),
        (BOTH, "a@CONTOSO.example", "contoso-id", True),
        (BOTH, "a@fabrikam.example", "contoso-id", False),
        (BOTH, "a@contoso.example.evil.example", "contoso-id", False),
        (DOMAIN_ONLY, "a@contoso.example", "contoso-id", False),
        (NOTHING, "a@contoso.example", "contoso-id", False),
    ],
)
def test_provider_tenant_has_to_be_allowed_and_the_domain_where_domains_are(
    policy: ApplicationAccessPolicy, address: str, provider_tenant: str | None, is_allowed: bool
) -> None:
    refusal = policy.explain_refusal(address, provider_tenant, has_provider_tenants=True)
    assert (refusal is None) == is_allowed


@pytest.mark.parametrize(
    ("policy", "address", "is_allowed"),
    [
        (DOMAIN_ONLY, "a@contoso.example", True),
        (DOMAIN_ONLY, "a@fabrikam.example", False),
        (TENANT_ONLY, "a@contoso.example", False),
        (NOTHING, "a@contoso.example", False),
    ],
)
def test_domain_is_the_only_boundary_where_the_provider_has_no_tenants(
    policy: ApplicationAccessPolicy, address: str, is_allowed: bool
) -> None:
    assert (policy.explain_refusal(address, None, has_provider_tenants=False) is None) == is_allowed

"""The subscriptions of whole Entra tenants, as an application sees them: kept, and indexed by their mailboxes.

`GET /subscriptions` with an application's token answers with every subscription of the tenant, whichever mailbox it is
asked for. Asked before each creation, connecting n mailboxes of a tenant would read n * n / 2 entries.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from mailroom_common.providers.types import Mailbox, Subscription
from mailroom_outlook.mapping import list_owner_names, read_resource_owner

_MAX_TENANTS = 1_000

Listing = Sequence[tuple[Subscription, str]]
"""Each subscription with its change types."""


@dataclass(slots=True)
class _TenantListing:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    asked_at: datetime | None = None
    by_owner: Mapping[str, Listing] = field(default_factory=dict)


class TenantListings:
    def __init__(self) -> None:
        self._tenants: OrderedDict[str, _TenantListing] = OrderedDict()

    async def find_listed(
        self, mailbox: Mailbox, asked_after: datetime, ask: Callable[[], Awaitable[Listing]]
    ) -> Listing:
        """What the tenant's listing has of this mailbox. `ask` reads the whole listing, when the kept one is of before
        `asked_after`; callers that need it at the same time share one."""
        listing = self._keep_tenant(mailbox.provider_tenant or "")
        async with listing.lock:
            if listing.asked_at is None or listing.asked_at < asked_after:
                asked_at = datetime.now(UTC)
                listing.by_owner = _index_by_owner(await ask())
                listing.asked_at = asked_at
        return [entry for name in list_owner_names(mailbox) for entry in listing.by_owner.get(name, ())]

    def _keep_tenant(self, tenant: str) -> _TenantListing:
        listing = self._tenants.setdefault(tenant, _TenantListing())
        self._tenants.move_to_end(tenant)
        if len(self._tenants) > _MAX_TENANTS:
            self._tenants.popitem(last=False)
        return listing


def _index_by_owner(entries: Listing) -> Mapping[str, Listing]:
    by_owner: dict[str, list[tuple[Subscription, str]]] = defaultdict(list)
    for subscription, change_types in entries:
        if (owner := read_resource_owner(subscription.resource)) is not None:
            by_owner[owner].append((subscription, change_types))
    return by_owner

"""What a composition root's list names to have postboxes."""

from dataclasses import dataclass

from mailroom_common.events import Access
from mailroom_common.providers.ports import ClientContext, ProviderClients, ProviderTraits
from mailroom_postbox.clients import PostboxConsent, PostboxMail
from mailroom_postbox.server import PostboxServer
from mailroom_postbox.traits import TRAITS


@dataclass(frozen=True, slots=True)
class PostboxPackage:
    """`ProviderPackage` for the postboxes of one server."""

    server: PostboxServer
    traits: ProviderTraits = TRAITS

    def missing_settings(self, access: Access) -> str | None:
        return "Postboxes have no application access." if access is Access.APPLICATION else None

    def open_clients(self, context: ClientContext) -> ProviderClients:
        consent = PostboxConsent(self.server)
        return ProviderClients(mail=PostboxMail(self.server, context.tokens), consent=consent, grant_refresher=consent)

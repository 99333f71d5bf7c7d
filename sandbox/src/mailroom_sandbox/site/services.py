"""The service processes of a site: names, commands and routes by which everything else here refers to them."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    """`routes` are the path prefixes that an ingress sends to it."""

    name: str
    module: str
    role: str | None = None
    routes: tuple[str, ...] = ()

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", self.module, *([self.role] if self.role else [])]


WEBHOOK_GATEWAY = Service("webhook_gateway", "webhook_gateway", routes=("/webhooks", "/api/graph"))
SUBSCRIPTION_MANAGER = Service("subscription_manager", "subscription_manager", routes=("/oauth", "/doc-sources"))
INGESTION_API = Service("ingestion_api", "ingestion", "api", routes=("/documents", "/trades", "/pending-orders"))
SYNC_ENGINE_API = Service(
    "sync_engine_api",
    "sync_engine",
    "api",
    routes=("/messages", "/sync-runs", "/sync-states", "/parked-items", "/mail-events"),
)

SERVICES = (
    WEBHOOK_GATEWAY,
    SUBSCRIPTION_MANAGER,
    INGESTION_API,
    Service("sync_engine_coalescer", "sync_engine", "coalescer"),
    Service("sync_engine_worker", "sync_engine", "worker"),
    Service("ingestion_worker", "ingestion", "worker"),
    SYNC_ENGINE_API,
)

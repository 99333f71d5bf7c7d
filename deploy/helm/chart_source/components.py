"""The processes that the chart deploys, and which settings each of them reads."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

import ingestion.settings
import mailroom_cli.settings
import subscription_manager.settings
import sync_engine.settings
import webhook_gateway.settings
from mailroom_common.settings import PREFIX, KafkaSettings
from mailroom_common.topic_access import INTAKE_GROUP, SYNC_WORKER_GROUP
from mailroom_common.topics import ATTACHMENTS, COALESCER_APP_ID, NOTIFICATIONS, SYNC_REQUESTS
from mailroom_gmail.settings import GmailSettings
from mailroom_outlook.settings import OutlookSettings


@dataclass(frozen=True, slots=True)
class ScalingSignal:
    """What KEDA counts for one worker: the lag of a topic, or a metric that says how much work waits."""

    consumer_group: str
    topic: str
    query: str


@dataclass(frozen=True, slots=True)
class Component:
    """`key` names it in the values, `name` in Kubernetes. One with `routes` is reached from outside.

    `is_static_member` marks a consumer that keeps its partitions over a restart: it gets a stable name, and with it a
    StatefulSet (ADR 41). `replaces_in_place` marks a consumer whose old copy stops before the new one starts.
    """

    key: str
    service: str
    command: tuple[str, ...]
    settings: tuple[type[BaseSettings], ...]
    routes: tuple[str, ...] = ()
    is_static_member: bool = False
    replaces_in_place: bool = False
    calls_providers: bool = False
    is_called_by_providers: bool = False
    scaling: ScalingSignal | None = None

    @property
    def name(self) -> str:
        return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in self.key)

    @property
    def port(self) -> int:
        return int(_fields(self.settings[0])["http_port"].get_default())

    def variables(self) -> dict[str, FieldInfo]:
        """The environment variables that the process reads, with the field that each one fills."""
        found = {PREFIX + name.upper(): info for kind in self.settings for name, info in _fields(kind).items()}
        return dict(sorted(found.items()))

    def secret_variables(self) -> Iterator[str]:
        return (variable for variable, info in self.variables().items() if is_secret(info))


def _fields(kind: type[BaseSettings]) -> dict[str, FieldInfo]:
    return kind.model_fields


def is_secret(info: FieldInfo) -> bool:
    return "SecretStr" in str(info.annotation)


_PROVIDERS = (OutlookSettings, GmailSettings)

COMPONENTS = (
    Component(
        "webhookGateway",
        "webhook-gateway",
        ("python", "-m", "webhook_gateway"),
        (webhook_gateway.settings.Settings,),
        routes=("/webhooks", "/api/graph"),
        is_called_by_providers=True,
        calls_providers=True,  # for Google's public keys
    ),
    Component(
        "subscriptionManager",
        "subscription-manager",
        ("python", "-m", "subscription_manager"),
        (subscription_manager.settings.Settings, *_PROVIDERS),
        routes=("/oauth", "/doc-sources"),
        calls_providers=True,
    ),
    Component(
        "ingestionApi",
        "ingestion",
        ("python", "-m", "ingestion", "api"),
        (ingestion.settings.DocumentsAPISettings,),
        routes=("/documents", "/trades", "/pending-orders"),
    ),
    Component(
        "syncEngineCoalescer",
        "sync-engine",
        ("python", "-m", "sync_engine", "coalescer"),
        (sync_engine.settings.CoalescerSettings,),
        replaces_in_place=True,
        scaling=ScalingSignal(COALESCER_APP_ID, NOTIFICATIONS.name, ""),
    ),
    Component(
        "syncEngineWorker",
        "sync-engine",
        ("python", "-m", "sync_engine", "worker"),
        (sync_engine.settings.WorkerSettings, *_PROVIDERS),
        is_static_member=True,
        calls_providers=True,
        scaling=ScalingSignal(
            SYNC_WORKER_GROUP, SYNC_REQUESTS.name, 'sum(mailroom_sync_requests_pending{namespace="%s"})'
        ),
    ),
    Component(
        "ingestionWorker",
        "ingestion",
        ("python", "-m", "ingestion", "worker"),
        (ingestion.settings.WorkerSettings,),
        is_static_member=True,
        scaling=ScalingSignal(INTAKE_GROUP, ATTACHMENTS.name, ""),
    ),
    Component(
        "syncEngineApi",
        "sync-engine",
        ("python", "-m", "sync_engine", "api"),
        (sync_engine.settings.MessagesAPISettings,),
        routes=("/messages", "/sync-runs", "/sync-states", "/parked-items", "/mail-events"),
    ),
)

# What runs before the pods: `mailroom`, by the names that its Kafka user and its objects have.
JOBS = (
    Component("migrate", "owner", ("mailroom",), (mailroom_cli.settings.MigrateSettings,)),
    Component("topics", "cli", ("mailroom",), (KafkaSettings,)),
)

"""What each process of sync-engine reads from the environment."""

from pydantic import Field

from mailroom_common.settings import (
    APISettings,
    BlobSettings,
    DatabaseSettings,
    KafkaSettings,
    ParserSettings,
    ProcessSettings,
    ProviderSettings,
    TokenSettings,
)


class CoalescerSettings(ProcessSettings, KafkaSettings):
    http_port: int = 8083
    # Short, since the worker folds what comes while it works: this bounds records, not runs.
    coalesce_window_s: float = Field(default=0.5, gt=0)


class WorkerSettings(ProcessSettings, KafkaSettings, TokenSettings, BlobSettings, ProviderSettings, ParserSettings):
    http_port: int = 8084
    backstop_interval_s: float = Field(default=900, gt=0)  # subscription-manager's: two thirds of it make a run full
    # Runs at once in one worker; each mailbox also has its own limit of four calls.
    max_concurrent_syncs: int = Field(default=32, ge=1)
    # Records of attachments whose results have not come within this time are sent again.
    reemit_after_s: float = Field(default=86_400, gt=0)
    stop_grace_s: float = Field(default=2.0, ge=0)  # for runs under way, of the 5 s that a stopping process has


class MessagesAPISettings(ProcessSettings, DatabaseSettings, APISettings):
    http_port: int = 8086

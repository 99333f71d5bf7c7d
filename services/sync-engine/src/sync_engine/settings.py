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
from sync_engine.domain.ingestion_state import StateIdForm


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
    mail_event_days: float = Field(default=90, gt=0)  # how long events of observed mailboxes can be asked for
    # By which `app_name` messages of `contract_note` sources are claimed in the table shared with an outside job; that
    # job has to use the same.
    state_app_name: str = Field(default="pad_contract_notes", min_length=1, max_length=100)
    # By which id that table names a message: `default` is the form that other jobs see, for which Outlook needs the
    # permission User.Read (application access: User.Read.All); `immutable` is the form that Mailroom uses.
    state_id_form: StateIdForm = StateIdForm.DEFAULT
    # A claim in that table that was not renewed for so long may be taken over; the outside job has to use the same.
    state_stuck_timeout_s: float = Field(default=3600, gt=0)
    stop_grace_s: float = Field(default=2.0, ge=0)  # for runs under way, of the 5 s that a stopping process has


class MessagesAPISettings(ProcessSettings, DatabaseSettings, APISettings):
    http_port: int = 8086

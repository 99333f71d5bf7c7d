"""Settings of subscription-manager, from the environment."""

from pydantic import Field

from mailroom_common.settings import (
    APISettings,
    KafkaSettings,
    ProcessSettings,
    ProviderSettings,
    PublicSettings,
    TokenSettings,
)


class Settings(ProcessSettings, KafkaSettings, TokenSettings, APISettings, PublicSettings, ProviderSettings):
    http_port: int = 8081
    # Time between two backstop syncs of a source; two thirds of it make a run full.
    backstop_interval_s: float = Field(default=900, gt=0)
    # How long a link to the consent page is valid.
    ticket_lifetime_s: float = Field(default=3600, gt=0)
    # How long the user may take between our page and the provider's answer.
    flow_lifetime_s: float = Field(default=600, gt=0)
    # The provider's clock and ours differ: mail that came this long before the consent is taken all the same.
    start_margin_s: float = Field(default=60, ge=0)
    # The reconciler sleeps until the next scheduled check, and no longer than this.
    max_check_pause_s: float = Field(default=30, gt=0)
    # A doc source that nobody has consented to for so long is deleted, unless a link to it was made lately.
    pending_days: float = Field(default=30, gt=0)
    # Doc sources of one tenant that may wait for a consent at once; a further one is refused.
    max_pending_sources: int = Field(default=1000, ge=1)
    # Subscriptions that are created, renewed or ended at once.
    concurrent_subscriptions: int = Field(default=8, ge=1)

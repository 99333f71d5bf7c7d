"""The settings of the gateway. It has no database and no secret beyond the Pub/Sub ones."""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from mailroom_common.settings import KafkaSettings, ProcessSettings, TLSSettings

Network = IPv4Network | IPv6Network


class Settings(ProcessSettings, KafkaSettings, TLSSettings):
    http_port: int = Field(default=8080, ge=0, le=65535)
    # Comma-separated networks whose `X-Forwarded-For` is believed.
    trusted_proxies: str = ""

    # What is configured of these two is required of every push; with neither, every push of Gmail is refused.
    pubsub_token: SecretStr | None = None
    pubsub_audience: str | None = None
    pubsub_service_account: str | None = None
    # `projects/…/subscriptions/…`; a push of another subscription is refused.
    pubsub_subscription: str | None = None
    google_certs_url: str = "https://www.googleapis.com/oauth2/v3/certs"

    max_body_bytes: int = Field(default=1024 * 1024, ge=1024)
    # Graph counts an answer after 3 s as slow and after enough of those drops notifications. Ours is due after 2.5 s;
    # this is what Kafka gets of it, the rest is left to a busy machine.
    answer_within_s: float = Field(default=1.8, gt=0, lt=2.5)
    catch_up_within_s: float = Field(default=1.0, gt=0)
    # How many pushes at a time may wait for the directory to catch up; further ones are told to come again.
    most_catch_ups: int = Field(default=200, ge=1)

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: str) -> str:
        networks_in(value)
        return value

    @model_validator(mode="after")
    def _audience_proves_nothing_alone(self) -> Self:
        # Anybody with a Google account can have a token with our URL as audience.
        if (self.pubsub_audience is None) != (self.pubsub_service_account is None):
            raise ValueError("MAILROOM_PUBSUB_AUDIENCE and MAILROOM_PUBSUB_SERVICE_ACCOUNT are needed together")
        return self


def networks_in(text: str) -> tuple[Network, ...]:
    """Raises ValueError for what is no network."""
    return tuple(ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())

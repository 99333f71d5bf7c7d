"""The settings of the gateway, which has no database and no secret beyond those of Pub/Sub."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from mailroom_common.settings import KafkaSettings, ProcessSettings, TLSSettings, build_conflict
from mailroom_common.transport_security import HTTPSAddress

_SUBSCRIPTION_PATH = re.compile(r"projects/[^/\s]+/subscriptions/[^/\s]+")

Networks = tuple[IPv4Network | IPv6Network, ...]


class Settings(ProcessSettings, KafkaSettings, TLSSettings):
    http_port: int = Field(default=8080, ge=0, le=65535)
    # Comma-separated networks of the proxies whose `X-Forwarded-For` is trusted.
    trusted_proxies: str = ""

    # Of the token and the audience, what is set is required of every push of Gmail; with neither, all are refused.
    pubsub_token: SecretStr | None = None
    # Audience that the signed token of a push must name.
    pubsub_audience: str | None = None
    # E-mail of the service account that the signed token of a push must be of.
    pubsub_service_account: str | None = Field(default=None, validate_default=True)
    # `projects/…/subscriptions/…`; pushes of other subscriptions are refused.
    pubsub_subscription: str | None = None
    # Whether Gmail's notifications are pulled from `MAILROOM_PUBSUB_SUBSCRIPTION`, for a site that Google cannot call.
    # Google's client finds its credentials by its own standard variables (`GOOGLE_APPLICATION_CREDENTIALS`).
    pubsub_pull: bool = False
    # Most pulled messages that wait for Kafka at once in this process.
    pubsub_pull_messages: int = Field(default=500, ge=1, le=2_000)
    # Google's public keys as a JWK set, which prove the tokens of pushes.
    google_certs_url: HTTPSAddress = "https://www.googleapis.com/oauth2/v3/certs"

    # Largest body of a push; a larger one gets 413.
    max_body_bytes: int = Field(default=1024 * 1024, ge=1024)
    # How long Kafka may take to acknowledge a push. Graph counts responses after 3 s as slow, and drops notifications
    # when many are; ours are due after 2.5 s, and the difference is for a busy machine.
    push_timeout_s: float = Field(default=1.8, gt=0, lt=2.5)
    # How long a push may wait for the directory to read what `doc-sources` has by now.
    catch_up_timeout_s: float = Field(default=1.0, gt=0)
    # How many pushes may wait for the directory to catch up at one time; further ones get a 503.
    max_catch_ups: int = Field(default=200, ge=1)

    @field_validator("pubsub_subscription")
    @classmethod
    def _validate_subscription_path(cls, value: str | None) -> str | None:
        if value is not None and not _SUBSCRIPTION_PATH.fullmatch(value):
            raise ValueError("a path like projects/my-project/subscriptions/my-subscription is needed")
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _validate_trusted_proxies(cls, value: str) -> str:
        parse_networks(value)
        return value

    @field_validator("pubsub_service_account")
    @classmethod
    def _require_audience_with_service_account(cls, value: str | None, info: ValidationInfo) -> str | None:
        # Anybody with a Google account can get a token with our URL as audience: the audience proves nothing alone.
        if (info.data["pubsub_audience"] is None) != (value is None):
            raise build_conflict("MAILROOM_PUBSUB_AUDIENCE and MAILROOM_PUBSUB_SERVICE_ACCOUNT are needed together")
        return value

    @field_validator("pubsub_pull")
    @classmethod
    def _require_subscription_to_pull_from(cls, value: bool, info: ValidationInfo) -> bool:  # pydantic's call
        if value and info.data.get("pubsub_subscription", "wrong") is None:
            raise build_conflict(
                "MAILROOM_PUBSUB_PULL needs MAILROOM_PUBSUB_SUBSCRIPTION, the subscription that is pulled from"
            )
        return value


def parse_networks(text: str) -> Networks:
    """Raises ValueError for a part that is no network."""
    return tuple(ip_network(part.strip(), strict=False) for part in text.split(",") if part.strip())

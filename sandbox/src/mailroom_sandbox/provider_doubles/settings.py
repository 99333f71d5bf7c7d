"""Settings of the providers' process; every name is `MAILROOM_SANDBOX_` and the field in capitals."""

from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ProvidersSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="MAILROOM_SANDBOX_", frozen=True, extra="ignore")

    state: Path = Field(description="Folder that keeps mailboxes, tokens and subscriptions over a restart.")
    host: str = "127.0.0.1"
    microsoft_port: int = 9443
    google_port: int = 9444
    control_port: int = Field(default=9445, description="Plain http, for tests and the command line.")
    tls_certificate: Path = Field(description="PEM chain of both providers; valid for `host` and localhost.")
    tls_key: Path
    ca_bundle: Path | None = Field(default=None, description="Trusted when the providers call the webhooks.")
    allow_http_webhooks: bool = Field(default=False, description="Let webhooks be http on loopback addresses.")

    microsoft_client_id: str = "11111111-2222-4333-8444-555555555555"
    microsoft_client_secret: SecretStr = SecretStr("sandbox-microsoft-secret")
    google_client_id: str = "1234567890-sandbox.apps.googleusercontent.com"
    google_client_secret: SecretStr = SecretStr("sandbox-google-secret")
    redirect_uris: str = Field(default="", description="Registered redirect URIs, separated by commas; exact match.")

    pubsub_topic: str = "projects/mailroom-sandbox/topics/gmail"
    pubsub_subscription: str = "projects/mailroom-sandbox/subscriptions/gmail-push"
    pubsub_push_url: str | None = Field(default=None, description="Where Pub/Sub pushes; nothing is pushed without.")
    pubsub_token: SecretStr | None = Field(default=None, description="Static token, sent as query `token`.")
    pubsub_service_account: str | None = Field(default=None, description="Signs pushes with an OIDC token when set.")
    pubsub_audience: str | None = Field(default=None, description="The push URL by default, as at Google.")
    pubsub_wrapped: bool = True
    pubsub_drop_above_one_per_second: bool = Field(default=False, description="Gmail's own rule, off for fast tests.")

    access_token_lifetime_s: int = 3599
    refresh_tokens_rotate: bool = Field(default=False, description="Microsoft: a used refresh token dies (strict).")
    refuse_duplicate_subscriptions: bool = Field(default=False, description="Microsoft: 409, which the page promises.")
    microsoft_application_roles: str = Field(default="Mail.Read User.Read.All", description="Of app-only tokens.")
    concurrent_calls_per_mailbox: int = 4
    latency_ms: int = Field(default=3, description="Each mailbox call takes so long, or no two would ever overlap.")
    notification_first_timeout_s: float = 3.0
    notification_retry_timeout_s: float = 10.0
    notification_retry_base_s: float = Field(default=1.0, description="Doubles up to ten minutes; 4 hours in all.")

    def registered_redirects(self) -> frozenset[str]:
        return frozenset(uri.strip() for uri in self.redirect_uris.split(",") if uri.strip())

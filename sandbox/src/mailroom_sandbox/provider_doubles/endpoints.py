"""Where the providers are, and the settings that point Mailroom at them."""

from dataclasses import dataclass

from mailroom_sandbox.provider_doubles.settings import ProvidersSettings


@dataclass(frozen=True, slots=True)
class ProviderEndpoints:
    authority: str
    graph_url: str
    google_authorize_url: str
    google_token_url: str
    google_certs_url: str
    gmail_url: str
    control_url: str

    @classmethod
    def from_settings(cls, settings: ProvidersSettings) -> "ProviderEndpoints":
        microsoft = f"https://{settings.host}:{settings.microsoft_port}"
        google = f"https://{settings.host}:{settings.google_port}"
        return cls(
            authority=microsoft,
            graph_url=f"{microsoft}/v1.0",
            google_authorize_url=f"{google}/o/oauth2/v2/auth",
            google_token_url=f"{google}/token",
            google_certs_url=f"{google}/oauth2/v3/certs",
            gmail_url=google,
            control_url=f"http://{settings.host}:{settings.control_port}",
        )


def mailroom_environment(settings: ProvidersSettings) -> dict[str, str]:
    """The variables of Mailroom's services that make these its providers."""
    at = ProviderEndpoints.from_settings(settings)
    chosen = {
        "MAILROOM_MICROSOFT_AUTHORITY": at.authority,
        "MAILROOM_GRAPH_URL": at.graph_url,
        "MAILROOM_MICROSOFT_CLIENT_ID": settings.microsoft_client_id,
        "MAILROOM_MICROSOFT_CLIENT_SECRET": settings.microsoft_client_secret.get_secret_value(),
        "MAILROOM_GOOGLE_AUTHORIZE_URL": at.google_authorize_url,
        "MAILROOM_GOOGLE_TOKEN_URL": at.google_token_url,
        "MAILROOM_GOOGLE_CERTS_URL": at.google_certs_url,
        "MAILROOM_GMAIL_URL": at.gmail_url,
        "MAILROOM_GOOGLE_CLIENT_ID": settings.google_client_id,
        "MAILROOM_GOOGLE_CLIENT_SECRET": settings.google_client_secret.get_secret_value(),
        "MAILROOM_PUBSUB_TOPIC": settings.pubsub_topic,
        "MAILROOM_PUBSUB_SUBSCRIPTION": settings.pubsub_subscription,
    }
    if settings.pubsub_token:
        chosen["MAILROOM_PUBSUB_TOKEN"] = settings.pubsub_token.get_secret_value()
    if settings.pubsub_service_account:
        chosen["MAILROOM_PUBSUB_SERVICE_ACCOUNT"] = settings.pubsub_service_account
        chosen["MAILROOM_PUBSUB_AUDIENCE"] = settings.pubsub_audience or settings.pubsub_push_url or ""
    if settings.ca_bundle:
        chosen["MAILROOM_CA_BUNDLE"] = str(settings.ca_bundle)
    return chosen

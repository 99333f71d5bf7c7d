"""How Outlook differs from other providers, and what its clients read from the environment."""

from datetime import timedelta

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from mailroom_common.providers.ports import ChangeListing, ProviderTraits, PushTraits
from mailroom_common.settings import MailroomSettings, require_all_or_none
from mailroom_common.transport_security import HTTPSAddress

TRAITS = ProviderTraits(
    name="outlook",
    display_name="Outlook",
    archive_source="graph_webhook",
    change_listing=ChangeListing.FOLDER_DELTAS,
    uses_labels=False,
    is_removal_final=False,
    versions_follow_content=True,
    reports_inline_parts=False,
    application_access_needs_tenant=True,
    revocation_ends_account=False,
    push=PushTraits(
        # Documented are 10,080 minutes; live Graph refuses above 10,070.
        subscription_lifetime=timedelta(minutes=10_000),
        renewal_interval=None,
        # Graph warns of inconsistent state when a subscription is renewed or reauthorized twice within ten minutes.
        min_renewal_gap=timedelta(minutes=10),
        is_shared_by_account=False,
        has_notification_url=True,
        can_look_up=True,
    ),
)

CLIENT_VARIABLES = "MAILROOM_MICROSOFT_CLIENT_ID and MAILROOM_MICROSOFT_CLIENT_SECRET"


class OutlookSettings(MailroomSettings):
    # Scheme and host of Microsoft's identity platform.
    microsoft_authority: HTTPSAddress = "https://login.microsoftonline.com"
    # Base URL of Microsoft Graph, with its version.
    graph_url: HTTPSAddress = "https://graph.microsoft.com/v1.0"
    # Application (client) id at Microsoft; without it Outlook cannot be connected.
    microsoft_client_id: str | None = None
    # Secret of that application.
    microsoft_client_secret: SecretStr | None = Field(default=None, validate_default=True)

    @field_validator("microsoft_client_secret")
    @classmethod
    def _require_whole_client(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        given = {
            "MAILROOM_MICROSOFT_CLIENT_ID": info.data["microsoft_client_id"],
            "MAILROOM_MICROSOFT_CLIENT_SECRET": value,
        }
        require_all_or_none(TRAITS.display_name, given)
        return value

    @field_validator("microsoft_authority", "graph_url")
    @classmethod
    def _strip_slash(cls, value: str) -> str:
        return value.rstrip("/")

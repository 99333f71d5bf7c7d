"""How Gmail differs from other providers, and what its clients read from the environment."""

from datetime import timedelta

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from mailroom_common.providers.ports import ChangeListing, ProviderTraits, PushTraits
from mailroom_common.settings import MailroomSettings, require_all_or_none
from mailroom_common.transport_security import HTTPSAddress

WATCH_LIFETIME = timedelta(days=7)

_CONSUMER_DOMAINS = ("gmail.com", "googlemail.com")


def normalize_address(address: str) -> str:
    """Google delivers `a.da+x@googlemail.com` to `ada@gmail.com`: dots count for nothing there, and nowhere does what
    follows a plus sign. A Workspace account has its dots.

    Source: Gmail Help, "Dots don't matter in Gmail addresses"; Workspace user names hold no plus sign.
    """
    name, _, domain = address.strip().lower().rpartition("@")
    name = name.partition("+")[0]
    if domain in _CONSUMER_DOMAINS:
        return f"{name.replace('.', '')}@{_CONSUMER_DOMAINS[0]}"
    return f"{name}@{domain}"


TRAITS = ProviderTraits(
    name="gmail",
    display_name="Gmail",
    archive_source="gmail_push",
    change_listing=ChangeListing.MAILBOX_HISTORY,
    uses_labels=True,
    is_removal_final=True,
    versions_follow_content=False,
    reports_inline_parts=True,
    application_access_needs_tenant=False,
    revocation_ends_account=True,
    push=PushTraits(
        # Whatever is asked for.
        subscription_lifetime=WATCH_LIFETIME,
        # Google asks for a watch to be repeated daily.
        renewal_interval=timedelta(days=1),
        min_renewal_gap=timedelta(minutes=10),
        is_shared_by_account=True,
        has_notification_url=False,
        can_look_up=False,
    ),
    normalize_address=normalize_address,
)

ME = "/gmail/v1/users/me"  # the token says who that is, for a user and for a delegated service account
CLIENT_VARIABLES = "MAILROOM_GOOGLE_CLIENT_ID and MAILROOM_GOOGLE_CLIENT_SECRET"


class GmailSettings(MailroomSettings):
    # Google's consent page.
    google_authorize_url: HTTPSAddress = "https://accounts.google.com/o/oauth2/v2/auth"
    google_token_url: HTTPSAddress = "https://oauth2.googleapis.com/token"  # noqa: S105  # Where Google gives tokens.
    # Scheme and host of the Gmail API.
    gmail_url: HTTPSAddress = "https://gmail.googleapis.com"
    # OAuth client id at Google; without it Gmail cannot be connected.
    google_client_id: str | None = None
    # Secret of that client.
    google_client_secret: SecretStr | None = Field(default=None, validate_default=True)
    # JSON key of a service account with domain-wide delegation, for application access.
    google_service_account_key: SecretStr | None = None
    # Pub/Sub topic that Gmail's watch publishes to; `projects/…/topics/…`.
    pubsub_topic: str | None = None
    # Of projects made since May 2026; older ones have 15,000 per user. All processes together keep within.
    gmail_user_units_per_minute: int = Field(default=6_000, ge=100)
    # Quota units that all mailboxes of the project may use in a minute.
    gmail_project_units_per_minute: int = Field(default=1_200_000, ge=100)

    @field_validator("google_client_secret")
    @classmethod
    def _require_whole_client(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        given = {
            "MAILROOM_GOOGLE_CLIENT_ID": info.data["google_client_id"],
            "MAILROOM_GOOGLE_CLIENT_SECRET": value,
        }
        require_all_or_none(TRAITS.display_name, given)
        return value

    @field_validator("gmail_url")
    @classmethod
    def _strip_slash(cls, value: str) -> str:
        return value.rstrip("/")

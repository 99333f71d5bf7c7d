"""How a postbox differs: as one folder with deltas, like Outlook, where what is removed is gone, like Gmail."""

from mailroom_common.providers.ports import ChangeListing, ProviderTraits
from mailroom_common.providers.types import Folder

INBOX = Folder("inbox-id", "Inbox", "inbox")

TRAITS = ProviderTraits(
    name="postbox",
    display_name="Postbox",
    archive_source="poller",
    change_listing=ChangeListing.FOLDER_DELTAS,
    uses_labels=False,
    is_removal_final=True,
    versions_follow_content=False,
    reports_inline_parts=True,
    application_access_needs_tenant=False,
    revocation_ends_account=False,
    push=None,
)

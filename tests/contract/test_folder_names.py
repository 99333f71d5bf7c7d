"""What subscription-manager accepts at a consent is what sync-engine finds, and what it refuses is not."""

import pytest

from mailroom_common.events import Profile
from mailroom_common.providers.types import Folder
from subscription_manager.domain.folder_names import find_missing_folders
from sync_engine.domain.watched_folders import LabelWatch, watch_folders

FOLDERS = [
    Folder("f1", "Posteingang", "inbox"),
    Folder("f2", "Posteingang/Rechnungen"),
    Folder("f3", "Gesendet", "sentitems"),
    Folder("f4", "Archiv/2026"),
]
SYSTEM_LABELS = ("INBOX", "TRASH", "SPAM", "DRAFT", "SENT", "STARRED", "UNREAD", "CATEGORY_PROMOTIONS")
LABELS = [Folder(name, name, name) for name in SYSTEM_LABELS] + [Folder("Label_7", "Kunden/Rechnungen")]
NAMES = [
    "inbox",
    "Posteingang",
    "inbox/rechnungen",
    "Posteingang/Rechnungen/",
    "sentitems",
    "gesendet",
    "deleteditems",
    "junkemail",
    "Trash",
    "starred",
    "category_promotions",
    "kunden/RECHNUNGEN",
    "Kunden",
    "Archiv",
    " archiv/2026 ",
    "Label_7",
    "Rechnungne",
]


@pytest.mark.parametrize("name", NAMES)
def test_folder_that_is_accepted_is_watched(name: str) -> None:
    watch = watch_folders(FOLDERS, Profile.INVOICE, [name])
    assert (find_missing_folders([name], FOLDERS) == []) == (watch.missing_names == ())
    assert (watch.missing_names == ()) == bool(watch.folders)


@pytest.mark.parametrize("name", NAMES)
def test_label_that_is_accepted_is_watched(name: str) -> None:
    label_ids = {label.path.casefold(): label.folder_id for label in LABELS}
    watch = LabelWatch(Profile.INVOICE, (name,), label_ids)
    assert (find_missing_folders([name], LABELS) == []) == (watch.missing_names == ())

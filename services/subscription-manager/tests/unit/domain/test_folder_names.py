import pytest

from mailroom_common.providers.types import Folder
from subscription_manager.domain.folder_names import find_missing_folders

FOLDERS = [
    Folder("f1", "Posteingang", "inbox"),
    Folder("f2", "Posteingang/Rechnungen"),
    Folder("f3", "Gesendet", "sentitems"),
    Folder("f4", "Archiv/2026"),
]
LABELS = [
    Folder("INBOX", "INBOX", "INBOX"),
    Folder("TRASH", "TRASH", "TRASH"),
    Folder("CATEGORY_PROMOTIONS", "CATEGORY_PROMOTIONS", "CATEGORY_PROMOTIONS"),
    Folder("Label_7", "Kunden/Rechnungen"),
]


@pytest.mark.parametrize(
    "name",
    ["inbox", "Inbox", "posteingang", "Posteingang/Rechnungen", "inbox/rechnungen", "/Archiv/2026/", " ARCHIV/2026 "],
)
def test_folder_is_named_by_its_path_or_its_well_known_name(name: str) -> None:
    assert find_missing_folders([name], FOLDERS) == []


@pytest.mark.parametrize(
    "name", ["inbox", "trash", "deleteditems", "category_promotions", "kunden/rechnungen", "Kunden/Rechnungen"]
)
def test_label_is_named_by_its_name_or_by_what_folders_are_called(name: str) -> None:
    assert find_missing_folders([name], LABELS) == []


@pytest.mark.parametrize("name", ["Rechnungen", "inbox/rechnung", "Archiv", "junkemail", "Label_7", "sent/x"])
def test_name_that_no_folder_has_is_missing(name: str) -> None:
    assert find_missing_folders(["inbox", name], FOLDERS + LABELS) == [name]


def test_missing_ones_are_told_as_they_were_typed_and_in_their_order() -> None:
    assert find_missing_folders(["Zwei", "inbox", "Eins"], FOLDERS) == ["Zwei", "Eins"]
    assert find_missing_folders([], FOLDERS) == []

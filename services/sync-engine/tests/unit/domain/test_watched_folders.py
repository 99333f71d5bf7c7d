"""Which folders and labels are ours to look at."""

from itertools import combinations, product

import pytest

from mailroom_common.events import Profile
from mailroom_common.providers.types import Change, ChangeKind, Folder, LabelChanges, MessageSummary
from sync_engine.domain.watched_folders import (
    LabelWatch,
    are_labels_watched,
    choose_primary_label,
    is_own_label,
    watch_folders,
)

TREE = [
    Folder("archive", "Archive", "archive"),
    Folder("inbox", "Posteingang", "inbox"),
    Folder("rechnungen", "Posteingang/Rechnungen"),
    Folder("drafts", "Entwürfe", "drafts"),
    Folder("sent", "Gesendet", "sentitems"),
    Folder("outbox", "Postausgang", "outbox"),
    Folder("junk", "Junk-E-Mail", "junkemail"),
    Folder("deleted", "Gelöscht", "deleteditems"),
    Folder("thrown-away", "Gelöscht/Projekt"),
    Folder("posteingang2", "Posteingang2"),
    Folder("views", "Suchordner", "searchfolders"),
    Folder("view", "Suchordner/Ungelesen"),
]


def _watched(profile: Profile, *named: str) -> list[str]:
    return list(watch_folders(TREE, profile, named).folders)


def test_by_default_the_whole_mailbox_but_what_is_sent_thrown_away_or_junk() -> None:
    expected = ["inbox", "archive", "rechnungen", "posteingang2"]
    assert _watched(Profile.INVOICE) == expected
    assert _watched(Profile.CONTRACT_NOTE) == expected


def test_everything_is_observed_but_views_on_other_folders() -> None:
    assert set(_watched(Profile.OBSERVATION)) == {folder.folder_id for folder in TREE} - {"views", "view"}


@pytest.mark.parametrize(
    "name", ["Posteingang/Rechnungen", "posteingang/rechnungen", "/Posteingang/Rechnungen/", "inbox/Rechnungen"]
)
def test_a_folder_is_named_by_its_path_or_from_a_well_known_one(name: str) -> None:
    assert _watched(Profile.INVOICE, name) == ["rechnungen"]


def test_named_folders_are_exactly_those_even_where_the_default_leaves_them() -> None:
    assert _watched(Profile.INVOICE, "inbox", "JunkEmail") == ["inbox", "junk"]
    assert _watched(Profile.INVOICE, "nowhere") == []


def test_a_message_lies_in_a_watched_folder_or_is_not_ours() -> None:
    watch = watch_folders(TREE, Profile.INVOICE, ())
    location = watch.locate_message(MessageSummary(message_id="m", folder_id="rechnungen"))
    assert location is not None
    assert location.name == "Posteingang/Rechnungen"
    assert watch.locate_message(MessageSummary(message_id="m", folder_id="junk")) is None
    assert watch.knows_location(MessageSummary(message_id="m", folder_id="rechnungen"))
    assert not watch.knows_location(MessageSummary(message_id="m"))


def test_which_labels_are_on_a_message_now_is_never_known_from_a_history() -> None:
    watch = LabelWatch(Profile.INVOICE, (), {})
    assert not watch.knows_location(MessageSummary(message_id="m", labels=frozenset({"INBOX"})))


@pytest.mark.parametrize(
    ("profile", "named", "labels", "watched"),
    [
        (Profile.INVOICE, (), {"INBOX"}, True),
        (Profile.INVOICE, (), set(), True),
        (Profile.INVOICE, (), {"SENT"}, False),
        (Profile.INVOICE, (), {"SENT", "INBOX"}, True),
        (Profile.INVOICE, (), {"INBOX", "SPAM"}, False),
        (Profile.OBSERVATION, (), {"TRASH"}, True),
        (Profile.INVOICE, ("inbox",), {"Label_1"}, False),
        (Profile.INVOICE, ("inbox",), {"INBOX", "Label_1"}, True),
        (Profile.INVOICE, ("Rechnungen",), {"Label_1"}, True),
        (Profile.INVOICE, ("Rechnungen",), {"Label_1", "TRASH"}, False),
        (Profile.INVOICE, ("junkemail",), {"SPAM"}, True),
        (Profile.INVOICE, ("SENT",), {"SENT"}, True),
        (Profile.INVOICE, ("important",), {"IMPORTANT"}, True),
    ],
)
def test_labels_decide(profile: Profile, named: tuple[str, ...], labels: set[str], watched: bool) -> None:
    watch = LabelWatch(profile, named, {"rechnungen": "Label_1"})
    assert (watch.locate_message(MessageSummary(message_id="m", labels=frozenset(labels))) is not None) is watched


def test_only_labels_of_the_users_own_have_ids_to_ask_for() -> None:
    assert is_own_label("Rechnungen")
    assert not any(is_own_label(name) for name in ["inbox", "SENT", "CATEGORY_PROMOTIONS", "junkemail"])


def test_a_name_that_the_mailbox_does_not_have_is_missing() -> None:
    watch = watch_folders(TREE, Profile.INVOICE, ("inbox", "inbox/Rechnungen", "Belege", "junkemail"))
    assert watch.missing_names == ("Belege",)
    assert watch_folders(TREE, Profile.INVOICE, ()).missing_names == ()


def test_a_label_that_the_mailbox_does_not_have_is_missing() -> None:
    watch = LabelWatch(Profile.INVOICE, ("inbox", "STARRED", "Rechnungen", "Belege"), {"rechnungen": "Label_1"})
    assert watch.missing_names == ("Belege",)


@pytest.mark.parametrize(
    ("labels", "primary"),
    [
        ({"INBOX", "UNREAD", "Label_2"}, "INBOX"),
        ({"INBOX", "TRASH"}, "TRASH"),
        ({"Label_2", "Label_1", "CATEGORY_UPDATES"}, "Label_1"),
        ({"UNREAD"}, "ARCHIVE"),
    ],
)
def test_one_label_stands_for_the_folder(labels: set[str], primary: str) -> None:
    assert choose_primary_label(frozenset(labels)) == primary


_LABELS = ("INBOX", "SENT", "SPAM", "DRAFT", "STARRED", "Label_7")
_LABEL_SETS = [frozenset(chosen) for size in range(7) for chosen in combinations(_LABELS, size)]


@pytest.mark.parametrize("names", [(), ("invoices",), ("spam",), ("sentitems", "inbox")])
def test_no_change_of_labels_that_brings_a_message_to_a_watched_place_is_taken_for_another(
    names: tuple[str, ...],
) -> None:
    ids = {"invoices": "Label_7"}
    watch = LabelWatch(Profile.INVOICE, names, ids)
    watched = {labels: are_labels_watched(labels, Profile.INVOICE, names, ids) for labels in _LABEL_SETS}
    for before, after in product(_LABEL_SETS, repeat=2):
        was_watched, is_watched = watched[before], watched[after]
        for told in (after, frozenset[str]()):
            summary = MessageSummary(message_id="m", labels=told) if told else None
            change = Change(
                ChangeKind.PRESENT, "m", summary, label_changes=LabelChanges(after - before, before - after)
            )
            assert not (is_watched and watch.is_elsewhere(change))
            assert not (is_watched and not was_watched) or watch.may_have_arrived(change), (before, after)


def test_flags_of_a_message_bring_it_nowhere() -> None:
    watch = LabelWatch(Profile.INVOICE, (), {})
    starred = LabelChanges(frozenset({"STARRED", "Label_7"}), frozenset({"UNREAD", "INBOX"}))
    assert not watch.may_have_arrived(Change(ChangeKind.PRESENT, "m", label_changes=starred))
    assert watch.may_have_arrived(Change(ChangeKind.PRESENT, "m")), "it may be new"

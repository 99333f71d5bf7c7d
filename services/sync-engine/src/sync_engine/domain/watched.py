"""Which mail of a mailbox is ours to look at: folders on Graph, labels on Gmail."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mailroom_common.events import Profile
from mailroom_common.providers.types import Folder, MessageSummary

# Well-known names whose whole subtree is left by default: a folder thrown away is still thrown away.
_LEFT = frozenset({"deleteditems", "drafts", "junkemail", "outbox", "recoverableitemsdeletions", "sentitems"})
# Views on other folders: their messages would be read twice.
_VIEWS = frozenset({"searchfolders"})

_LABELS_LEFT = frozenset({"CHAT", "DRAFT", "SPAM", "TRASH"})
_LABEL_OF_WELL_KNOWN = {
    "deleteditems": "TRASH",
    "drafts": "DRAFT",
    "inbox": "INBOX",
    "junkemail": "SPAM",
    "sentitems": "SENT",
}
_SYSTEM_LABELS = _LABELS_LEFT | {"IMPORTANT", "INBOX", "SENT", "STARRED", "UNREAD"}
# What stands for "the folder" of a Gmail message that has many labels, first match first.
_PRIMARY_LABELS = ("TRASH", "SPAM", "DRAFT", "INBOX", "SENT", "CHAT")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message lies: a folder with its path, or the label that stands for it."""

    folder_id: str
    name: str


class Watch(Protocol):
    def can_tell(self, summary: MessageSummary) -> bool:
        """Whether the summary says where the message lies."""
        ...

    def place(self, summary: MessageSummary) -> Place | None:
        """None: not watched."""
        ...


@dataclass(frozen=True, slots=True)
class FolderWatch:
    folders: Mapping[str, Folder]

    def can_tell(self, summary: MessageSummary) -> bool:
        return summary.folder_id is not None

    def place(self, summary: MessageSummary) -> Place | None:
        folder = self.folders.get(summary.folder_id or "")
        return Place(folder.folder_id, folder.path) if folder else None


@dataclass(frozen=True, slots=True)
class LabelWatch:
    """Gmail's history may say which labels were on a message; which are on it now, only a fetch tells."""

    profile: Profile
    named: tuple[str, ...]
    label_ids: Mapping[str, str]

    def can_tell(self, summary: MessageSummary) -> bool:  # noqa: ARG002
        return False

    def place(self, summary: MessageSummary) -> Place | None:
        if not watches_labels(summary.labels, self.profile, self.named, self.label_ids):
            return None
        label = primary_label(summary.labels)
        return Place(label, label)


def watched_folders(folders: Sequence[Folder], profile: Profile, named: Iterable[str]) -> dict[str, Folder]:
    """By id, the inbox first. `named` narrows to these well-known names or paths, exactly these folders."""
    wanted = {_normal(name) for name in named}
    well_known = {folder.well_known: _normal(folder.path) for folder in folders if folder.well_known}
    if wanted:
        chosen = [folder for folder in folders if _is_named(folder, wanted, well_known)]
    else:
        left = _VIEWS if profile is Profile.OBSERVATION else _VIEWS | _LEFT
        roots = [path for name, path in well_known.items() if name in left]
        chosen = [folder for folder in folders if not any(_is_within(_normal(folder.path), root) for root in roots)]
    return {folder.folder_id: folder for folder in sorted(chosen, key=_inbox_first)}


def watches_labels(
    labels: frozenset[str], profile: Profile, named: Iterable[str], label_ids: Mapping[str, str]
) -> bool:
    """Judged by the labels that the message has now. `label_ids` tells the id of a label by its name in lower case."""
    wanted = {_label(name, label_ids) for name in named}
    if wanted and not labels & wanted:
        return False
    if profile is Profile.OBSERVATION:
        return True
    if (labels & _LABELS_LEFT) - wanted:
        return False
    return "SENT" not in labels or "INBOX" in labels or "SENT" in wanted


def names_own_labels(named: Iterable[str]) -> bool:
    """Whether a name is one of the user's own labels, whose id only the provider knows."""
    return any(_normal(name) not in _LABEL_OF_WELL_KNOWN and not _is_system_label(name) for name in named)


def primary_label(labels: frozenset[str]) -> str:
    for label in _PRIMARY_LABELS:
        if label in labels:
            return label
    own = sorted(label for label in labels if not _is_system_label(label))
    return own[0] if own else "ARCHIVE"


def _is_named(folder: Folder, wanted: set[str], well_known: Mapping[str, str]) -> bool:
    path = _normal(folder.path)
    names = {path}
    if folder.well_known:
        names.add(folder.well_known)
    # `inbox/invoices` names the same folder in a mailbox whose inbox is called `Posteingang`.
    names |= {name + path[len(root) :] for name, root in well_known.items() if path.startswith(root + "/")}
    return bool(names & wanted)


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def _inbox_first(folder: Folder) -> tuple[bool, str]:
    return (folder.well_known != "inbox", _normal(folder.path))


def _normal(name: str) -> str:
    return name.strip().strip("/").casefold()


def _label(name: str, label_ids: Mapping[str, str]) -> str:
    if _is_system_label(name):
        return name.strip().upper()
    normal = _normal(name)
    return _LABEL_OF_WELL_KNOWN.get(normal) or label_ids.get(normal) or name.strip()


def _is_system_label(name: str) -> bool:
    label = name.strip().upper()
    return label in _SYSTEM_LABELS or label.startswith("CATEGORY_")

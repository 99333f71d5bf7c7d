"""Which mail of a mailbox is watched: by the folder it lies in, or by the labels it has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mailroom_common.events import Profile
from mailroom_common.providers.types import Change, Folder, MessageSummary

# Well-known names whose whole subtree is left out by default: what lies in a deleted folder is deleted too.
_UNWATCHED_FOLDERS = frozenset(
    {"deleteditems", "drafts", "junkemail", "outbox", "recoverableitemsdeletions", "sentitems"}
)
# Views on other folders: their messages would be read twice.
_VIEWS = frozenset({"searchfolders"})

_UNWATCHED_LABELS = frozenset({"CHAT", "DRAFT", "SPAM", "TRASH"})
_LABELS_BY_WELL_KNOWN_NAME = {
    "deleteditems": "TRASH",
    "drafts": "DRAFT",
    "inbox": "INBOX",
    "junkemail": "SPAM",
    "sentitems": "SENT",
}
_SYSTEM_LABELS = _UNWATCHED_LABELS | {"IMPORTANT", "INBOX", "SENT", "STARRED", "UNREAD"}
# What counts as the folder of a message that has many labels, first match first.
_PRIMARY_LABELS = ("TRASH", "SPAM", "DRAFT", "INBOX", "SENT", "CHAT")


@dataclass(frozen=True, slots=True)
class MessageLocation:
    """Where a message lies: a folder with its path, or the label that counts as its folder."""

    folder_id: str
    name: str


class Watch(Protocol):
    """`missing_names`: the names of the source's `folders` that the mailbox does not have."""

    @property
    def missing_names(self) -> tuple[str, ...]: ...

    def knows_location(self, summary: MessageSummary) -> bool:
        """Whether the summary says where the message lies."""
        ...

    def locate_message(self, summary: MessageSummary) -> MessageLocation | None:
        """None: not watched."""
        ...

    def is_elsewhere(self, change: Change) -> bool:
        """Whether the change itself says that its message lies, after it, where nothing is watched."""
        ...

    def may_have_arrived(self, change: Change) -> bool:
        """Whether the change may have brought its message to where it is watched: by no more than its labels."""
        ...


@dataclass(frozen=True, slots=True)
class FolderWatch:
    folders: Mapping[str, Folder]
    missing_names: tuple[str, ...] = ()

    def knows_location(self, summary: MessageSummary) -> bool:
        return summary.folder_id is not None

    def locate_message(self, summary: MessageSummary) -> MessageLocation | None:
        folder = self.folders.get(summary.folder_id or "")
        return MessageLocation(folder.folder_id, folder.path) if folder else None

    def is_elsewhere(self, change: Change) -> bool:  # noqa: ARG002
        return False  # a page of a folder shows what lies in that folder

    def may_have_arrived(self, change: Change) -> bool:  # noqa: ARG002
        return True


@dataclass(frozen=True, slots=True)
class LabelWatch:
    """A history may say which labels were on a message; which are on it now, only a fetch tells."""

    profile: Profile
    names: tuple[str, ...]
    label_ids: Mapping[str, str]  # by the label's name in lower case

    @property
    def missing_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if is_own_label(name) and _normalize_name(name) not in self.label_ids)

    def find_own_label_ids(self) -> Mapping[str, str]:
        """Of the watched labels that are the user's own and that the mailbox has, by name in lower case."""
        names = {_normalize_name(name) for name in self.names if is_own_label(name)}
        return {name: self.label_ids[name] for name in names & self.label_ids.keys()}

    def knows_location(self, summary: MessageSummary) -> bool:  # noqa: ARG002
        return False

    def locate_message(self, summary: MessageSummary) -> MessageLocation | None:
        if not are_labels_watched(summary.labels, self.profile, self.names, self.label_ids):
            return None
        label = choose_primary_label(summary.labels)
        return MessageLocation(label, label)

    def is_elsewhere(self, change: Change) -> bool:
        # No labels at all may also mean that the history left them out.
        summary = change.summary
        return summary is not None and bool(summary.labels) and self.locate_message(summary) is None

    def may_have_arrived(self, change: Change) -> bool:
        """By which labels were put on and taken off: a label that is both may have been taken off last.

        What was watched before such a change and is after it was judged when it came; so this is all that counts. The
        labels that the message has now would not tell: between two changes of one page it may have lain elsewhere, and
        a fetch at that moment has found it there.
        """
        changes = change.label_changes
        if changes is None:
            return True
        wanted = {_label_id(name, self.label_ids) for name in self.names}
        if (changes.removed & (_UNWATCHED_LABELS | {"SENT"})) - wanted or changes.added & wanted:
            return True
        # To be in the inbox makes a difference to what one has sent, and to nothing else.
        labels = change.summary.labels if change.summary else frozenset()
        return "INBOX" in changes.added and (not labels or "SENT" in labels)


def watch_folders(folders: Sequence[Folder], profile: Profile, names: Sequence[str]) -> FolderWatch:
    """Folders by id, the inbox first. `names` narrows to these well-known names or paths, exactly these folders."""
    well_known = {folder.well_known: _normalize_name(folder.path) for folder in folders if folder.well_known}
    if names:
        wanted = {_normalize_name(name): name for name in names}
        chosen = [folder for folder in folders if _folder_names(folder, well_known) & wanted.keys()]
        found = set[str]().union(*(_folder_names(folder, well_known) for folder in folders))
        missing = tuple(name for normal, name in wanted.items() if normal not in found)
    else:
        unwatched = _VIEWS if profile is Profile.OBSERVATION else _VIEWS | _UNWATCHED_FOLDERS
        roots = [path for name, path in well_known.items() if name in unwatched]
        chosen = [
            folder for folder in folders if not any(_is_within(_normalize_name(folder.path), root) for root in roots)
        ]
        missing = ()
    return FolderWatch({folder.folder_id: folder for folder in sorted(chosen, key=_inbox_first)}, missing)


def are_labels_watched(
    labels: frozenset[str], profile: Profile, names: Iterable[str], label_ids: Mapping[str, str]
) -> bool:
    """Judged by the labels that the message has now. `label_ids` has the id of a label by its name in lower case."""
    wanted = {_label_id(name, label_ids) for name in names}
    if wanted and not labels & wanted:
        return False
    if profile is Profile.OBSERVATION:
        return True
    if (labels & _UNWATCHED_LABELS) - wanted:
        return False
    return "SENT" not in labels or "INBOX" in labels or "SENT" in wanted


def is_own_label(name: str) -> bool:
    """Whether this is one of the user's own labels, whose id only the provider knows."""
    return _normalize_name(name) not in _LABELS_BY_WELL_KNOWN_NAME and not _is_system_label(name)


def choose_primary_label(labels: frozenset[str]) -> str:
    for label in _PRIMARY_LABELS:
        if label in labels:
            return label
    own = sorted(label for label in labels if not _is_system_label(label))
    return own[0] if own else "ARCHIVE"


def _folder_names(folder: Folder, well_known: Mapping[str, str]) -> set[str]:
    path = _normalize_name(folder.path)
    names = {path}
    if folder.well_known:
        names.add(folder.well_known)
    # `inbox/invoices` names the same folder in a mailbox whose inbox is called `Posteingang`.
    return names | {name + path[len(root) :] for name, root in well_known.items() if path.startswith(root + "/")}


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")


def _inbox_first(folder: Folder) -> tuple[bool, str]:
    return (folder.well_known != "inbox", _normalize_name(folder.path))


def _normalize_name(name: str) -> str:
    return name.strip().strip("/").casefold()


def _label_id(name: str, label_ids: Mapping[str, str]) -> str:
    if _is_system_label(name):
        return name.strip().upper()
    normal = _normalize_name(name)
    # A name that the mailbox does not have matches no label of any message.
    return _LABELS_BY_WELL_KNOWN_NAME.get(normal) or label_ids.get(normal) or name.strip()


def _is_system_label(name: str) -> bool:
    label = name.strip().upper()
    return label in _SYSTEM_LABELS or label.startswith("CATEGORY_")

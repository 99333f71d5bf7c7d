"""Which of the names in `folders` no folder or label of a mailbox has."""

from collections.abc import Iterable, Sequence

from mailroom_common.providers.types import Folder

# A well-known folder may be named by either word, whichever of them the provider has.
_SYNONYMS = {
    "deleteditems": "trash",
    "drafts": "draft",
    "junkemail": "spam",
    "sentitems": "sent",
}


def find_missing_folders(names: Iterable[str], folders: Sequence[Folder]) -> list[str]:
    """In the order of `names`. A folder is named by its path, by its well-known name, or by the path below that."""
    known = set[str]()
    well_known = {_normalize(folder.well_known): _normalize(folder.path) for folder in folders if folder.well_known}
    for folder in folders:
        path = _normalize(folder.path)
        known.add(path)
        # `inbox/invoices` names the same folder in a mailbox whose inbox is called `Posteingang`.
        known |= {name + path[len(root) :] for name, root in well_known.items() if path.startswith(root + "/")}
    known |= well_known.keys()
    return [name for name in names if not {_normalize(name), _SYNONYMS.get(_normalize(name))} & known]


def _normalize(name: str) -> str:
    return name.strip().strip("/").casefold()

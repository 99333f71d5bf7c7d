"""The folder tree of a Graph mailbox, with paths, and which folder is the inbox, whatever its language calls it."""

from collections import deque
from collections.abc import AsyncIterator
from urllib.parse import quote

from mailroom_common.errors import ItemGone, ProviderUnavailable, Rejected
from mailroom_common.providers.calls import ProviderCall, ProviderCalls
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.types import Folder, Mailbox
from mailroom_common.providers.untrusted_text import read_text
from mailroom_outlook.graph_calls import follow_pages
from mailroom_outlook.mapping import Payload, read_items, read_required

# Those that a default leaves out or that people name in `folders`. v1.0 has no member that tells them.
WELL_KNOWN = ("inbox", "drafts", "sentitems", "outbox", "deleteditems", "junkemail", "archive", "conversationhistory")
_SELECT = "id,displayName,parentFolderId,childFolderCount,isHidden"
_PAGE = "100"
_CHILDREN = "/childFolders"


class GraphFolders:
    def __init__(self, calls: ProviderCalls, base: BaseURL) -> None:
        self._calls = calls
        self._base = base
        # Ids of well-known folders stay for the life of the mailbox. By user path, then by name.
        self._well_known: dict[str, dict[str, str]] = {}

    async def list_tree(self, mailbox: Mailbox, user: str) -> list[Folder]:
        names = {folder_id: name for name, folder_id in (await self._read_well_known_ids(mailbox, user)).items()}
        found: list[Folder] = []
        # Breadth first, page by page: Graph has no call for the whole tree.
        ahead: deque[tuple[str, str]] = deque([(f"{user}/mailFolders", "")])
        while ahead:
            path, above = ahead.popleft()
            async for item in self._list_folders_at(mailbox, path):
                if "searchfolder" in str(item.get("@odata.type")).lower():
                    continue  # a stored query: its messages live in other folders, and it has no delta
                folder_id, name = read_required(item, "id"), read_text(item.get("displayName")) or ""
                folder = Folder(folder_id, f"{above}/{name}" if above else name, names.get(folder_id))
                found.append(folder)
                if item.get("childFolderCount") != 0:
                    ahead.append((f"{user}/mailFolders/{quote(folder_id, safe='')}{_CHILDREN}", folder.path))
        return found

    async def _list_folders_at(self, mailbox: Mailbox, path: str) -> AsyncIterator[Payload]:
        call = ProviderCall(
            name="folders", path=path, query={"$top": _PAGE, "includeHiddenFolders": "true", "$select": _SELECT}
        )
        has_begun = False
        try:
            async for page in follow_pages(self._calls, self._base, mailbox, call):
                has_begun = True
                for item in read_items(page):
                    yield item
        except ItemGone as error:
            if path.endswith(_CHILDREN) and not has_begun:
                return  # deleted between its parent's page and its own
            # Half a tree would pass for a whole one, and what is not in it for mail that nobody wants.
            raise ProviderUnavailable(f"Graph lost its list of folders: {error}") from error

    async def _read_well_known_ids(self, mailbox: Mailbox, user: str) -> dict[str, str]:
        known = self._well_known.setdefault(user, {})
        for name in WELL_KNOWN:
            if name not in known:
                call = ProviderCall(name="folder", path=f"{user}/mailFolders/{name}", query={"$select": "id"})
                try:
                    known[name] = read_required(await self._calls.fetch_json(mailbox, call), "id")
                except Rejected:  # ItemGone among them
                    continue  # not every mailbox has each of them, nor every Graph each name: asked again next time
        return known

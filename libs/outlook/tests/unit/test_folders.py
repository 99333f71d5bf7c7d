from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from mailroom_common.errors import (
    ProviderUnavailable,
)
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox
from mailroom_outlook.mail import GraphMail

BASE = "https://graph.example/v1.0"
START_AT = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def graph(http: httpx.AsyncClient, tokens: Any) -> GraphMail:
    return GraphMail(http, BaseURL(BASE), tokens, Quota(slots=4))


def page(*items: dict[str, object], **links: str) -> httpx.Response:
    return httpx.Response(200, json={"value": list(items), **{f"@odata.{name}": link for name, link in links.items()}})


async def test_folder_tree_has_paths_and_knows_the_inbox_in_any_language(
    graph: GraphMail, wire: Any, outlook: Mailbox
) -> None:
    answers = {
        "/v1.0/users/user-1/mailFolders/inbox": {"id": "id-in"},
        "/v1.0/users/user-1/mailFolders/id-in/childFolders": {
            "value": [{"id": "id-2026", "displayName": "2026", "childFolderCount": 0}]
        },
        "/v1.0/more": {"value": [{"id": "id-hidden", "displayName": "Quarantäne", "childFolderCount": 0}]},
        "/v1.0/users/user-1/mailFolders": {
            "value": [
                {"id": "id-in", "displayName": "Posteingang", "childFolderCount": 1},
                {"@odata.type": "#microsoft.graph.mailSearchFolder", "id": "id-s", "displayName": "Suche"},
            ],
            "@odata.nextLink": f"{BASE}/more?$skip=2",
        },
    }

    def answer(request: httpx.Request) -> httpx.Response:
        found = answers.get(request.url.path)
        if request.url.path.endswith("/archive"):
            return httpx.Response(400, json={"error": {"code": "ErrorInvalidIdMalformed"}})
        return (
            httpx.Response(404, json={"error": {"code": "ErrorItemNotFound"}})
            if found is None
            else httpx.Response(200, json=found)
        )

    wire.answer = answer
    tree = await graph.list_folders(outlook)
    assert {(folder.folder_id, folder.path, folder.well_known) for folder in tree} == {
        ("id-in", "Posteingang", "inbox"),
        ("id-2026", "Posteingang/2026", None),
        ("id-hidden", "Quarantäne", None),
    }
    listing = next(request for request in wire.requests if request.url.path.endswith("/mailFolders"))
    assert listing.url.params["includeHiddenFolders"] == "true"
    assert listing.url.params["$top"] == "100"
    asked = len(wire.requests)
    await graph.list_folders(outlook)
    assert "/v1.0/users/user-1/mailFolders/inbox" not in [request.url.path for request in wire.requests[asked:]]


@pytest.mark.parametrize(
    ("lost", "is_whole"),
    [
        ("/mailFolders", False),
        ("/more", False),
        ("/mailFolders/id-gone/childFolders", True),  # deleted since its parent's page
        ("/mailFolders/id-in/childFolders/more", False),
    ],
)
async def test_folder_tree_lacks_what_is_gone_and_is_never_half(
    graph: GraphMail, wire: Any, outlook: Mailbox, lost: str, is_whole: bool
) -> None:
    def folder(folder_id: str, children: int) -> dict[str, object]:
        return {"id": folder_id, "displayName": folder_id, "childFolderCount": children}

    pages = {
        "/mailFolders": page(folder("id-in", 2), nextLink=f"{BASE}/users/user-1/more"),
        "/more": page(folder("id-gone", 1)),
        "/mailFolders/id-in/childFolders": page(
            folder("id-a", 0), nextLink=f"{BASE}/users/user-1/mailFolders/id-in/childFolders/more"
        ),
        "/mailFolders/id-in/childFolders/more": page(folder("id-b", 0)),
        "/mailFolders/id-gone/childFolders": page(folder("id-c", 0)),
    }
    del pages[lost]
    not_found = httpx.Response(404, json={"error": {"code": "ErrorItemNotFound"}})
    wire.answer = lambda request: pages.get(request.url.path.removeprefix("/v1.0/users/user-1"), not_found)
    if is_whole:
        tree = await graph.list_folders(outlook)
        assert [folder.folder_id for folder in tree] == ["id-in", "id-gone", "id-a", "id-b"]
    else:
        with pytest.raises(ProviderUnavailable):
            await graph.list_folders(outlook)

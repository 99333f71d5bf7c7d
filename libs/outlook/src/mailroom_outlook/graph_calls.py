"""How every call to Graph is made: with immutable ids, on paths of one user, and lists page by page.

Source: providers/graph.md 8 and 9.
"""

from collections.abc import AsyncIterator
from urllib.parse import quote

import httpx

from mailroom_common.errors import ProviderUnavailable
from mailroom_common.providers.calls import ProviderCall, ProviderCalls, RefusalMapper
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.ports import AccessTokenSource
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox
from mailroom_outlook.errors import map_refusal
from mailroom_outlook.mapping import Payload
from mailroom_outlook.settings import TRAITS

# The `Prefer` of every call, subscriptions included: an id then survives a move within the mailbox, and the ids of
# notifications are those of deltas, lists and fetches.
IMMUTABLE_IDS = 'IdType="ImmutableId"'

# Of one list, 50,000 mails of one second among them: whoever answers with more is broken, and pages stay in memory.
MAX_LINKS = 1000


def open_graph_calls(http: httpx.AsyncClient, base: BaseURL, tokens: AccessTokenSource, quota: Quota) -> ProviderCalls:
    # Graph counts calls, whatever each of them brings.
    return ProviderCalls(
        TRAITS.name, http, base, tokens, quota, map_refusal, headers={"Prefer": IMMUTABLE_IDS}, default_units=1
    )


async def follow_pages(
    calls: ProviderCalls,
    base: BaseURL,
    mailbox: Mailbox,
    call: ProviderCall,
    *,
    map_refusal: RefusalMapper | None = None,
) -> AsyncIterator[Payload]:
    """Each page of the list, the first by `call`; what its headers ask for is asked of every page.

    Raises:
        ProviderUnavailable: the list leads back to where it was, or on for more pages than any list has.
    """
    followed: set[str] = set()
    while True:
        page = await calls.fetch_json(mailbox, call, map_refusal=map_refusal)
        yield page
        link = page.get("@odata.nextLink")
        if not isinstance(link, str):
            return
        # A link that leads to another host is refused: the token would go there.
        path = base.relativize_link(link)
        if path in followed or len(followed) >= MAX_LINKS:
            raise ProviderUnavailable("Graph's list does not end")
        followed.add(path)
        call = ProviderCall(name=call.name, path=path, headers=call.headers)


def build_user_path(mailbox: Mailbox) -> str:
    # `/users/{id}` and not `/me`: it means the same for a delegated token, and is the only one for an application's.
    return f"/users/{quote_segment(mailbox.provider_user_id or mailbox.address)}"


def quote_segment(text: str) -> str:
    """Ids hold `=`, and older ones `/` and `+`."""
    return quote(text, safe="@")

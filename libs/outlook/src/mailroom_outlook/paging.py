"""Lists of Graph that are read to their end in one go, by links that stay on the configured host."""

from collections.abc import AsyncIterator

from mailroom_common.providers.calls import Call, Judge, ProviderCalls
from mailroom_common.providers.http import BaseURL
from mailroom_common.providers.types import Mailbox
from mailroom_outlook.mapping import Payload


async def following(
    calls: ProviderCalls, base: BaseURL, mailbox: Mailbox, call: Call, *, judge: Judge | None = None
) -> AsyncIterator[Payload]:
    """Each page of the list, the first by `call`; what its headers ask for is asked of every page."""
    while True:
        page = await calls.json(mailbox, call, judge=judge)
        yield page
        link = page.get("@odata.nextLink")
        if not isinstance(link, str):
            return
        call = Call(name=call.name, path=base.relative(link), headers=call.headers)

"""One process that refreshes a grant when it is told to.

Arguments: database URL, sealing keys, mailbox as JSON. Each line on stdin is an access token that was rejected; each
line on stdout is the token that is used instead. The settings of the providers come from the environment.
"""

import asyncio
import sys

import orjson

from mailroom_common.events.terms import Access, Profile, Provider
from mailroom_common.postgres import open_pool
from mailroom_common.providers.open import open_providers
from mailroom_common.providers.port import Mailbox
from mailroom_common.settings import ProviderSettings, load_settings
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import TokenStore


async def run(database_url: str, keys: str, described: str) -> None:
    fields = orjson.loads(described)
    mailbox = Mailbox(
        **fields
        | {
            "provider": Provider(fields["provider"]),
            "access": Access(fields["access"]),
            "profile": Profile(fields["profile"]),
        }
    )
    async with open_pool(database_url, application_name="refresh-child", max_size=2) as pool:
        store = TokenStore(pool, SealingKeys.parse(keys), url=database_url)
        async with open_providers(load_settings(ProviderSettings), store) as providers:
            say("ready")
            while rejected := (await asyncio.to_thread(sys.stdin.readline)).strip():
                say(await providers.tokens.bearer(mailbox, rejected=rejected))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


asyncio.run(run(*sys.argv[1:]))

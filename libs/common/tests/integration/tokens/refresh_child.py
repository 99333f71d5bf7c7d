"""One process that refreshes a grant when it is told to.

Arguments: database URL, sealing keys, mailbox as JSON. Each line on stdin is an access token that was rejected; each
line on stdout is the token that is used instead. The settings of the providers come from the environment.
"""

import asyncio
import sys

import orjson

import mailroom_gmail
import mailroom_outlook
from mailroom_common.events import Access, Profile
from mailroom_common.postgres import open_pool
from mailroom_common.provider_clients import open_providers
from mailroom_common.providers.types import Mailbox
from mailroom_common.settings import ProviderSettings, load_settings
from mailroom_common.tokens.sealing import SealingKeys
from mailroom_common.tokens.store import TokenStore

PACKAGES = (mailroom_outlook.PACKAGE, mailroom_gmail.PACKAGE)


async def run(database_url: str, keys: str, described: str) -> None:
    fields = orjson.loads(described)
    mailbox = Mailbox(
        **fields
        | {
            "provider": (fields["provider"]),
            "access": Access(fields["access"]),
            "profile": Profile(fields["profile"]),
        }
    )
    async with open_pool(database_url, application_name="refresh-child", max_size=2) as pool:
        store = TokenStore(pool, SealingKeys.parse_keys(keys), url=database_url)
        async with open_providers(PACKAGES, load_settings(ProviderSettings), store) as providers:
            say("ready")
            while rejected := (await asyncio.to_thread(sys.stdin.readline)).strip():
                say(await providers.tokens.get_access_token(mailbox, rejected=rejected))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


asyncio.run(run(*sys.argv[1:]))

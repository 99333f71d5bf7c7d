"""Connects a mailbox through the consent pages, as its owner would in a browser."""

import ssl

from mailroom_common.errors import Rejected
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.browser import Browser

_GONE = {"deleting", "deleted"}


async def ensure_mailbox_connected(
    api: MailroomAPI, provider: str, address: str, trusted: ssl.SSLContext, *, profile: str = "invoice"
) -> str:
    """The id of the active doc source of this mailbox and profile: one that was paused is resumed, and consent
    is given only where it is missing."""
    existing = [
        source for source in await api.list_items("/doc-sources") if _is_for(source, provider, address, profile)
    ]
    active = [source for source in existing if source["state"] == "active"]
    if active:
        return str(active[0]["id"])
    if paused := [source for source in existing if source["state"] == "paused"]:
        resumed = await api.post_json(f"/doc-sources/{paused[0]['id']}/resume")
        return str(resumed["id"])
    if existing:
        doc_source_id = str(existing[0]["id"])
        link = (await api.post_json(f"/doc-sources/{doc_source_id}/authorize"))["authorize_url"]
    else:
        made = await api.post_json("/doc-sources", {"provider": provider, "profile": profile, "address": address})
        doc_source_id, link = str(made["id"]), made["authorize_url"]
    await _give_consent(link, address, trusted)
    source = await api.get_json(f"/doc-sources/{doc_source_id}")
    if source["state"] != "active" or source["address"] != address:
        raise Rejected(f"{address} is not connected after consent: {source['state']}, {source['connection_reason']}")
    return doc_source_id


async def _give_consent(link: str, address: str, trusted: ssl.SSLContext) -> None:
    async with Browser(trusted) as browser:
        ours = await browser.open_page(link)  # names tenant and purpose, and has one button
        providers = await browser.submit_form(ours)
        await browser.submit_form(providers, account=address, decision="accept")


def _is_for(source: dict[str, object], provider: str, address: str, profile: str) -> bool:
    """A source that nobody has consented to has no address yet; a run that was interrupted leaves one."""
    return (
        source["provider"] == provider
        and source["profile"] == profile
        and source["address"] in (address, None)
        and source["state"] not in _GONE
    )

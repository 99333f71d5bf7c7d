"""Talks to the control API, and fills in the consent pages as a person would."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import httpx


class ControlClient:
    def __init__(self, url: str, *, timeout_s: float = 30.0) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=timeout_s, trust_env=False)

    async def __aenter__(self) -> "ControlClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def reset(self) -> None:
        """Forgets everything but keys and ports."""
        await self._call("POST", "/sandbox/reset")

    async def create_mailbox(self, provider: str, address: str, display_name: str | None = None) -> None:
        wish = {"provider": provider, "address": address, "display_name": display_name}
        await self._call("POST", "/sandbox/mailboxes", json=wish)

    async def mailboxes(self) -> list[dict[str, Any]]:
        return await self._items("/sandbox/mailboxes")

    async def disable_mailbox(self, address: str, reason: str | None) -> None:
        """With a Graph error code such as MailboxNotEnabledForRESTAPI; None brings the mailbox back."""
        await self._call("POST", "/sandbox/mailboxes/disable", json={"address": address, "reason": reason})

    async def create_folder(self, address: str, folder: str, provider: str | None = None) -> str:
        """Makes a folder (Outlook, by path) or a label (Gmail, by name), and returns the provider's id of it."""
        wish = {"address": address, "folder": folder, "provider": provider}
        answer = await self._call("POST", "/sandbox/folders", json=wish)
        return str(answer["items"][0]["folder_id"])

    async def remove_folder(self, address: str, folder: str, provider: str | None = None) -> None:
        wish = {"address": address, "folder": folder, "provider": provider}
        await self._call("POST", "/sandbox/folders/remove", json=wish)

    async def deliver(
        self,
        source: bytes,
        to: str,
        *,
        provider: str | None = None,
        folder: str | None = None,
        received_at: datetime | None = None,
        times: int = 1,
    ) -> list[str]:
        """Returns the ids: immutable ones on Outlook."""
        wish = {"to": to, "provider": provider, "folder": folder, "times": times}
        wish["received_at"] = received_at.isoformat() if received_at else None
        timeout_s = 30 + times * 0.05
        answer = await self._call("POST", "/sandbox/messages", params=_given(wish), content=source, timeout=timeout_s)
        return [item["message_id"] for item in answer["items"]]

    async def messages(self, address: str, provider: str | None = None) -> list[dict[str, Any]]:
        return await self._items("/sandbox/messages", {"address": address, "provider": provider})

    async def move(self, address: str, message_id: str, folder: str) -> str:
        wish = {"address": address, "message_id": message_id, "folder": folder}
        return str((await self._call("POST", "/sandbox/messages/move", json=wish))["message_id"])

    async def mark_read(self, address: str, message_id: str, *, is_read: bool = True) -> None:
        wish = {"address": address, "message_id": message_id, "is_read": is_read}
        await self._call("POST", "/sandbox/messages/update", json=wish)

    async def delete(self, address: str, message_id: str) -> None:
        await self._call("POST", "/sandbox/messages/delete", json={"address": address, "message_id": message_id})

    async def calls(
        self, mailbox: str | None = None, provider: str | None = None, after: int = 0
    ) -> list[dict[str, Any]]:
        return await self._items("/sandbox/calls", {"mailbox": mailbox, "provider": provider, "after": after})

    async def forget_calls(self) -> None:
        await self._call("DELETE", "/sandbox/calls")

    async def subscriptions(self) -> list[dict[str, Any]]:
        return await self._items("/sandbox/subscriptions")

    async def drop_subscription(self, subscription_id: str) -> None:
        await self._call("DELETE", f"/sandbox/subscriptions/{subscription_id}")

    async def watches(self) -> list[dict[str, Any]]:
        return await self._items("/sandbox/watches")

    async def lifecycle(self, event: str, *, address: str | None = None, subscription_id: str | None = None) -> int:
        wish = {"event": event, "address": address, "subscription_id": subscription_id}
        return int((await self._call("POST", "/sandbox/lifecycle", json=wish))["sent"])

    async def expire_tokens(self, address: str | None = None) -> int:
        return int((await self._call("POST", "/sandbox/tokens/expire", json={"address": address}))["expired"])

    async def revoke_grants(self, address: str) -> int:
        return int((await self._call("POST", "/sandbox/grants/revoke", json={"address": address}))["revoked"])

    async def refuse_cursors(self, address: str) -> None:
        await self._call("POST", "/sandbox/cursors/refuse", json={"address": address})

    async def notifications(self) -> dict[str, Any]:
        """`waiting`, and `items` with status and attempts of each that was accepted or given up."""
        return await self._call("GET", "/sandbox/notifications")

    async def hurry(self) -> int:
        """Has every push that waits for its next attempt tried now."""
        return int((await self._call("POST", "/sandbox/notifications/hurry"))["hurried"])

    async def resend(self, last: int = 1, address: str | None = None) -> int:
        wish = {"last": last, "address": address}
        return int((await self._call("POST", "/sandbox/notifications/resend", json=wish))["sent"])

    async def set_fault(self, name: str, *, mailbox: str | None = None, **parameters: object) -> None:
        await self._call("PUT", f"/sandbox/faults/{name}", params=_given({"mailbox": mailbox}), json=parameters)

    async def clear_faults(self, name: str | None = None, *, mailbox: str | None = None) -> int:
        path = f"/sandbox/faults/{name}" if name else "/sandbox/faults"
        return int((await self._call("DELETE", path, params=_given({"mailbox": mailbox})))["cleared"])

    async def faults(self) -> dict[str, Any]:
        return await self._call("GET", "/sandbox/faults")

    async def _items(self, path: str, params: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
        answer = await self._call("GET", path, params=_given(params or {}))
        return list(answer["items"])

    async def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:  # httpx's own options
        answer = await self._http.request(method, path, **options)
        if answer.is_error:
            raise ControlError(f"{method} {path}: {answer.status_code} {answer.text}")
        return dict(answer.json()) if answer.content else {}


class ControlError(Exception):
    """The control API said no; its text says why."""


async def decide(
    http: httpx.AsyncClient,
    authorize_url: str,
    *,
    account: str | None = None,
    accept: bool = True,
    without_scopes: Sequence[str] = (),
) -> str:
    """Opens a provider's consent page, chooses, and returns the address that the browser is sent back to.

    Without an account the preselected one stays chosen.
    """
    page = await http.get(authorize_url)
    if page.status_code != 200:
        return _redirected(page)
    form = _Form()
    form.feed(page.text)
    fields = [(name, value) for name, value in form.fields if name != "account" or account is None]
    fields = [one for one in fields if not (one[0] == "scope_allowed" and one[1] in without_scopes)]
    if account is not None:
        fields.append(("account", account))
    fields.append(("decision", "accept" if accept else "decline"))
    encoded = urlencode(fields)
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return _redirected(await http.post(authorize_url, content=encoded, headers=headers))


def _redirected(answer: httpx.Response) -> str:
    location = answer.headers.get("location")
    if location is None:
        raise ControlError(f"the provider did not send the browser back: {answer.status_code} {answer.text[:300]}")
    return str(location)


class _Form(HTMLParser):
    """What a browser would post: hidden fields, and what is checked."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        if tag == "input" and (of.get("type") == "hidden" or "checked" in of):
            self.fields.append((of.get("name") or "", of.get("value") or ""))


def _given(wish: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in wish.items() if value is not None}

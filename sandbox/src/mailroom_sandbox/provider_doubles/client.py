"""Talks to the control API, and fills in the consent pages as a person would."""

import ssl
from collections.abc import Mapping, Sequence
from datetime import datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import httpx


class ControlClient:
    def __init__(self, url: str, *, timeout_s: float = 30.0) -> None:
        # It is not asked over TLS: a context that trusts nobody is not filled with the authorities of the world.
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._http = httpx.AsyncClient(base_url=url, timeout=timeout_s, trust_env=False, verify=trust)

    async def __aenter__(self) -> "ControlClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def reset_state(self) -> None:
        """Forgets everything but keys and ports."""
        await self._send_request("POST", "/sandbox/reset")

    async def find_or_create_mailbox(self, provider: str, address: str, display_name: str | None = None) -> None:
        fields = {"provider": provider, "address": address, "display_name": display_name}
        await self._send_request("POST", "/sandbox/mailboxes", json=fields)

    async def list_mailboxes(self) -> list[dict[str, Any]]:
        return await self._list_items("/sandbox/mailboxes")

    async def disable_mailbox(self, address: str, reason: str | None) -> None:
        """With a Graph error code such as MailboxNotEnabledForRESTAPI; None brings the mailbox back."""
        await self._send_request("POST", "/sandbox/mailboxes/disable", json={"address": address, "reason": reason})

    async def find_or_create_folder(self, address: str, folder: str, provider: str | None = None) -> str:
        """Makes a folder (Outlook, by path) or a label (Gmail, by name), and returns the provider's id of it."""
        fields = {"address": address, "folder": folder, "provider": provider}
        answer = await self._send_request("POST", "/sandbox/folders", json=fields)
        return str(answer["items"][0]["folder_id"])

    async def remove_folder(self, address: str, folder: str, provider: str | None = None) -> None:
        fields = {"address": address, "folder": folder, "provider": provider}
        await self._send_request("POST", "/sandbox/folders/remove", json=fields)

    async def deliver_mail(
        self,
        source: bytes,
        to: str,
        *,
        provider: str | None = None,
        folder: str | None = None,
        received_at: datetime | None = None,
        times: int = 1,
        create_folder: bool = True,
    ) -> list[str]:
        """Returns the ids: immutable ones on Outlook."""
        fields: dict[str, object] = {"to": to, "provider": provider, "folder": folder, "times": times}
        fields["create_folder"] = None if create_folder else "false"
        fields["received_at"] = received_at.isoformat() if received_at else None
        timeout_s = 30 + times * 0.05
        answer = await self._send_request(
            "POST", "/sandbox/messages", params=_drop_missing(fields), content=source, timeout=timeout_s
        )
        return [item["message_id"] for item in answer["items"]]

    async def list_messages(self, address: str, provider: str | None = None) -> list[dict[str, Any]]:
        return await self._list_items("/sandbox/messages", {"address": address, "provider": provider})

    async def move_message(self, address: str, message_id: str, folder: str) -> str:
        fields = {"address": address, "message_id": message_id, "folder": folder}
        return str((await self._send_request("POST", "/sandbox/messages/move", json=fields))["message_id"])

    async def mark_read(self, address: str, message_id: str, *, is_read: bool = True) -> None:
        fields = {"address": address, "message_id": message_id, "is_read": is_read}
        await self._send_request("POST", "/sandbox/messages/update", json=fields)

    async def set_flag(self, address: str, message_id: str, flag: str) -> None:
        """`flag` is Graph's word: notFlagged, flagged or complete; on Gmail it is the star."""
        fields = {"address": address, "message_id": message_id, "flag": flag}
        await self._send_request("POST", "/sandbox/messages/update", json=fields)

    async def delete_message(self, address: str, message_id: str) -> None:
        await self._send_request(
            "POST", "/sandbox/messages/delete", json={"address": address, "message_id": message_id}
        )

    async def list_calls(
        self, mailbox: str | None = None, provider: str | None = None, after: int = 0
    ) -> list[dict[str, Any]]:
        return await self._list_items("/sandbox/calls", {"mailbox": mailbox, "provider": provider, "after": after})

    async def sum_units(
        self, mailbox: str | None = None, provider: str | None = None, after: int = 0, window_s: float = 60.0
    ) -> list[dict[str, Any]]:
        """By mailbox: `calls`, `units`, `failed`, and `most_units_in_window`."""
        asked = {"mailbox": mailbox, "provider": provider, "after": after, "window_s": window_s}
        return await self._list_items("/sandbox/units", asked)

    async def forget_calls(self) -> None:
        await self._send_request("DELETE", "/sandbox/calls")

    async def list_subscriptions(self) -> list[dict[str, Any]]:
        return await self._list_items("/sandbox/subscriptions")

    async def drop_subscription(self, subscription_id: str) -> None:
        await self._send_request("DELETE", f"/sandbox/subscriptions/{subscription_id}")

    async def list_watches(self) -> list[dict[str, Any]]:
        return await self._list_items("/sandbox/watches")

    async def send_lifecycle_event(
        self, event: str, *, address: str | None = None, subscription_id: str | None = None
    ) -> int:
        fields = {"event": event, "address": address, "subscription_id": subscription_id}
        return int((await self._send_request("POST", "/sandbox/lifecycle", json=fields))["sent"])

    async def expire_tokens(self, address: str | None = None) -> int:
        return int((await self._send_request("POST", "/sandbox/tokens/expire", json={"address": address}))["expired"])

    async def revoke_grants(self, address: str) -> int:
        return int((await self._send_request("POST", "/sandbox/grants/revoke", json={"address": address}))["revoked"])

    async def refuse_cursors(self, address: str) -> None:
        await self._send_request("POST", "/sandbox/cursors/refuse", json={"address": address})

    async def list_notifications(self) -> dict[str, Any]:
        """`waiting`, `most_attempts` of those, and `items`: status and attempts of each accepted or given up."""
        return await self._send_request("GET", "/sandbox/notifications")

    async def retry_pushes_now(self) -> int:
        """Has every push that waits for its next attempt tried now."""
        return int((await self._send_request("POST", "/sandbox/notifications/hurry"))["hurried"])

    async def resend_pushes(self, last: int = 1, address: str | None = None) -> int:
        fields = {"last": last, "address": address}
        return int((await self._send_request("POST", "/sandbox/notifications/resend", json=fields))["sent"])

    async def set_fault(self, name: str, *, mailbox: str | None = None, **parameters: object) -> None:
        await self._send_request(
            "PUT", f"/sandbox/faults/{name}", params=_drop_missing({"mailbox": mailbox}), json=parameters
        )

    async def clear_faults(self, name: str | None = None, *, mailbox: str | None = None) -> int:
        path = f"/sandbox/faults/{name}" if name else "/sandbox/faults"
        return int((await self._send_request("DELETE", path, params=_drop_missing({"mailbox": mailbox})))["cleared"])

    async def list_faults(self) -> dict[str, Any]:
        return await self._send_request("GET", "/sandbox/faults")

    async def _list_items(self, path: str, params: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
        answer = await self._send_request("GET", path, params=_drop_missing(params or {}))
        return list(answer["items"])

    async def _send_request(self, method: str, path: str, **options: Any) -> dict[str, Any]:  # httpx's own options
        try:
            answer = await self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise ControlError(
                f"the sandbox at {self._http.base_url} does not answer ({type(error).__name__}): is it still running?"
            ) from error
        if answer.is_error:
            raise ControlError(_read_detail(answer) or f"{method} {path} answers {answer.status_code}: {answer.text}")
        return dict(answer.json()) if answer.content else {}


def _read_detail(answer: httpx.Response) -> str | None:
    """The sentence of a refusal, or what is wrong with each field; None where the answer holds another shape."""
    try:
        detail = answer.json()["detail"]
        if isinstance(detail, str):
            return detail
        return "; ".join(f"{wrong['loc'][-1]}: {wrong['msg']}" for wrong in detail)
    except (ValueError, KeyError, TypeError, IndexError):
        return None


class ControlError(Exception):
    """The control API said no; its text says why."""


async def answer_consent_page(
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
        return _read_redirect(page)
    form = _Form()
    form.feed(page.text)
    fields = [(name, value) for name, value in form.fields if name != "account" or account is None]
    fields = [one for one in fields if not (one[0] == "scope_allowed" and one[1] in without_scopes)]
    if account is not None:
        fields.append(("account", account))
    fields.append(("decision", "accept" if accept else "decline"))
    encoded = urlencode(fields)
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return _read_redirect(await http.post(authorize_url, content=encoded, headers=headers))


def _read_redirect(answer: httpx.Response) -> str:
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


def _drop_missing(fields: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items() if value is not None}

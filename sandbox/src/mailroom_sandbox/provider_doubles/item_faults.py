"""Faults of single messages, for both providers: what fails, is denied, is there only later, or has odd bytes."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

import orjson

from mailroom_sandbox.provider_doubles.fault_switchboard import Faults
from mailroom_sandbox.provider_doubles.faults import AccessDeniedFault, ItemFails, MessageDelayed, OddBytes
from mailroom_sandbox.provider_doubles.wire import Call, Refused, Reply, to_ms

_ODD_BYTES = {"lone_surrogate": rb"\ud83d", "bad_utf8": b"\xe4\xff", "control": b"\x01"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class DescribedItem:
    """What a switch may call a message by, and when it came."""

    names: tuple[str, ...]
    arrived_ms: int


@dataclass(frozen=True, slots=True)
class ItemRefusals:
    """The provider's own answers."""

    not_found: Callable[[], Refused]
    access_denied: Callable[[], Refused]
    unavailable: Callable[[int], Reply]

    def fail(self, fault: ItemFails) -> Refused:
        if fault.status == 404:
            return self.not_found()
        reply = self.unavailable(fault.status)
        return Refused(reply.with_headers(Retry_After=fault.retry_after) if fault.retry_after is not None else reply)


class ItemFaults:
    """Asked by whoever shows messages. A message is described only while a switch is on: that takes its mail apart."""

    def __init__(
        self,
        faults: Faults,
        now: Callable[[], datetime],
        describe: Callable[[sqlite3.Row], DescribedItem],
        refusals: ItemRefusals,
    ) -> None:
        self._faults = faults
        self._now = now
        self._describe = describe
        self._refusals = refusals

    def refuse_message(self, mailbox: str, message: sqlite3.Row) -> None:
        """For each call that names the message."""
        if self._is_delayed(mailbox, message):
            raise self._refusals.not_found()
        if self._faults.use_fault_once(AccessDeniedFault, mailbox, lambda fault: fault.concerns(self._names(message))):
            raise self._refusals.access_denied()
        self._fail_if(mailbox, lambda fault: "message" in fault.where and fault.concerns(self._names(message)))

    def shape_part(self, mailbox: str, message: sqlite3.Row, filename: str | None, reply: Reply) -> Reply:
        """The answer with the part's bytes: as it is, broken half way, or refused."""
        fault = self._faults.use_fault_once(
            ItemFails,
            mailbox,
            lambda fault: fault.concerns_part(filename) and fault.concerns(self._names(message)),
        )
        if fault is None:
            return reply
        if fault.break_after_bytes is None:
            raise self._refusals.fail(fault)
        return replace(reply, break_after_bytes=fault.break_after_bytes)

    def refuse_page(self, where: Literal["list", "delta"], mailbox: str, messages: Iterable[sqlite3.Row]) -> None:
        self._fail_if(
            mailbox,
            lambda fault: where in fault.where and any(fault.concerns(self._names(message)) for message in messages),
        )

    def hides_messages(self, mailbox: str) -> bool:
        """Whether lists may leave some out, so that a page takes more rows than it shows."""
        fault = self._faults.find_active(MessageDelayed, mailbox)
        return fault is not None and not fault.is_listed

    def is_listed(self, mailbox: str, message: sqlite3.Row) -> bool:
        return not (self.hides_messages(mailbox) and self._is_delayed(mailbox, message))

    def find_unlisted(self, mailbox: str, messages_since: Callable[[int], Sequence[sqlite3.Row]]) -> list[sqlite3.Row]:
        """Of the mailbox's newest messages those that lists do not show yet."""
        fault = self._faults.find_active(MessageDelayed, mailbox)
        if fault is None or fault.is_listed:
            return []
        newest = messages_since(to_ms(self._now()) - int(fault.after_s * 1000))
        return [message for message in newest if self._is_delayed(mailbox, message)]

    def _is_delayed(self, mailbox: str, message: sqlite3.Row) -> bool:
        fault = self._faults.find_active(MessageDelayed, mailbox)
        if fault is None or fault.mode != "later":
            return False
        item = self._describe(message)
        return fault.concerns(item.names) and to_ms(self._now()) < item.arrived_ms + fault.after_s * 1000

    def _fail_if(self, mailbox: str, concerns: Callable[[ItemFails], bool]) -> None:
        if fault := self._faults.use_fault_once(ItemFails, mailbox, concerns):
            raise self._refusals.fail(fault)

    def _names(self, message: sqlite3.Row) -> tuple[str, ...]:
        return self._describe(message).names


def insert_odd_bytes(faults: Faults, mailbox: str | None, call: Call, reply: Reply, json_type: str) -> Reply:
    """The answer as it is, or spoilt by the `odd_bytes` switch; the steps of a batch are no bytes yet and are left."""
    fault = faults.find_active(OddBytes, mailbox) if mailbox else None
    if fault is None or call.batched or reply.body is None or isinstance(reply.body, bytes):
        return reply
    content, text = reply.content(), orjson.dumps(fault.text)[1:-1]
    if text not in content or not faults.use_fault_once(OddBytes, mailbox):
        return reply
    spoilt = _BYTE_ORDER_MARK + content if fault.kind == "bom" else content.replace(text, text + _ODD_BYTES[fault.kind])
    return replace(reply, body=spoilt, media_type=json_type)

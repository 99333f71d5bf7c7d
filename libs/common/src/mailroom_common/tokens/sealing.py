"""Secrets at rest: AES-256-GCM with a key id in front, bound to where they belong.

A sealed text is `key id:base64 of nonce and box`. The first configured key seals; all open, so a key is rotated by
putting a new one in front and removing the old one when nothing is sealed with it any more.
"""

import binascii
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from mailroom_common.errors import Fatal, SettingsError

_KEY_BYTES = 32
_NONCE_BYTES = 12


class CannotUnseal(Fatal):
    """The key is not configured any more, or the box belongs elsewhere or was changed."""


@dataclass(frozen=True, slots=True)
class SealingKeys:
    current_id: str
    _keys: Mapping[str, bytes] = field(repr=False, hash=False)

    @classmethod
    def parse_keys(cls, text: str, *, variable: str = "MAILROOM_TOKEN_KEYS") -> Self:
        """Comma-separated `id:base64 of 32 bytes`.

        Raises:
            SettingsError: there is no key, or an entry has another form; it names the variable and never a key.
        """
        keys: dict[str, bytes] = {}
        for number, entry in enumerate((part.strip() for part in text.split(",") if part.strip()), 1):
            key_id, _, encoded = entry.partition(":")
            key = _decode_base64(encoded)
            if not key_id or len(key) != _KEY_BYTES or key_id in keys:
                raise SettingsError(
                    f"{variable} is wrong in entry {number}: id:base64-of-32-bytes is needed, each id once."
                )
            keys[key_id] = key
        if not keys:
            raise SettingsError(f"{variable} holds no key: id:base64-of-32-bytes is needed.")
        return cls(next(iter(keys)), keys)

    def seal_secret(self, secret: bytes, *, bound_to: str) -> str:
        """`bound_to` names the row and the purpose: a box that is moved elsewhere does not open there."""
        nonce = os.urandom(_NONCE_BYTES)
        box = AESGCM(self._keys[self.current_id]).encrypt(
            nonce, secret, _build_associated_data(self.current_id, bound_to)
        )
        return f"{self.current_id}:{b64encode(nonce + box).decode()}"

    def unseal_secret(self, sealed: str, *, bound_to: str) -> bytes:
        key_id, _, encoded = sealed.partition(":")
        key = self._keys.get(key_id)
        if key is None:
            raise CannotUnseal(f"a secret is sealed with key {key_id}, which MAILROOM_TOKEN_KEYS does not have")
        box = _decode_base64(encoded)
        try:
            return AESGCM(key).decrypt(box[:_NONCE_BYTES], box[_NONCE_BYTES:], _build_associated_data(key_id, bound_to))
        except (InvalidTag, ValueError):
            raise CannotUnseal(f"a secret of {bound_to} was changed, or belongs elsewhere") from None


def _build_associated_data(key_id: str, bound_to: str) -> bytes:
    return f"mailroom\x1f{key_id}\x1f{bound_to}".encode()


def _decode_base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""

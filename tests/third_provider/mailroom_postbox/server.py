"""The provider's side, in memory: accounts, codes, tokens, and a log of what happened in each mailbox."""

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class StoredAttachment:
    filename: str
    content_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredMail:
    message_id: str
    subject: str
    sender_address: str
    received_at: datetime
    attachments: tuple[StoredAttachment, ...]


@dataclass(slots=True)
class PostboxAccount:
    """`log` holds the message ids in the order in which they came or went; a position is an index into it."""

    address: str
    mails: dict[str, StoredMail] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)


class PostboxServer:
    def __init__(self) -> None:
        self.accounts: dict[str, PostboxAccount] = {}
        self.revoked: list[str] = []
        self._codes: dict[str, str] = {}
        self._access_tokens: dict[str, str] = {}
        self._refresh_tokens: dict[str, str] = {}

    def create_account(self, address: str) -> PostboxAccount:
        account = self.accounts[address] = PostboxAccount(address)
        return account

    def deliver_mail(self, address: str, subject: str, *attachments: StoredAttachment) -> str:
        account = self.accounts[address]
        message_id = secrets.token_hex(8)
        account.mails[message_id] = StoredMail(
            message_id, subject, "billing@supplier.example", datetime.now(UTC), attachments
        )
        account.log.append(message_id)
        return message_id

    def grant_code(self, address: str) -> str:
        """What the provider's consent page does when its user agrees."""
        code = secrets.token_hex(8)
        self._codes[code] = address
        return code

    def redeem_code(self, code: str) -> tuple[str, str] | None:
        """(access token, refresh token), once."""
        address = self._codes.pop(code, None)
        if address is None:
            return None
        refresh_token = secrets.token_hex(16)
        self._refresh_tokens[refresh_token] = address
        return self._issue_access_token(address), refresh_token

    def refresh_access(self, refresh_token: str) -> str | None:
        address = self._refresh_tokens.get(refresh_token)
        return None if address is None else self._issue_access_token(address)

    def revoke_refresh_token(self, refresh_token: str) -> None:
        address = self._refresh_tokens.pop(refresh_token, None)
        if address is not None:
            self.revoked.append(address)

    def find_account(self, access_token: str) -> PostboxAccount | None:
        address = self._access_tokens.get(access_token)
        return None if address is None else self.accounts[address]

    def expire_access_tokens(self) -> None:
        self._access_tokens.clear()

    def _issue_access_token(self, address: str) -> str:
        token = secrets.token_hex(16)
        self._access_tokens[token] = address
        return token

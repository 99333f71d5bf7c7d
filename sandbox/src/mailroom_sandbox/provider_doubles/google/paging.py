"""Who calls Gmail, and the page that a call asks for."""

from dataclasses import dataclass

from mailroom_sandbox.provider_doubles.google import errors
from mailroom_sandbox.provider_doubles.google.accounts import GoogleAccount
from mailroom_sandbox.provider_doubles.wire import Call, TokenSeal


@dataclass(frozen=True, slots=True)
class GmailCaller:
    """`metadata_only`: the metadata scope wins over any other that the token also has."""

    account: GoogleAccount
    metadata_only: bool


def read_page_bound(seal: TokenSeal, call: Call, kind: str, account: GoogleAccount, default: int) -> int:
    """The sort key in the page token, from which the list goes on; `default` on the first page."""
    token = call.query_value("pageToken")
    if token is None:
        return default
    content = seal.open_token(kind, token)
    if content is None or content["user"] != account.user_id:
        raise errors.bad_request("Invalid pageToken")
    return int(str(content["after"]))


def read_page_size(call: Call) -> int:
    text = call.query_value("maxResults")
    if text is None:
        return 100
    if not text.isdigit() or int(text) == 0:
        raise errors.bad_request("Invalid value for maxResults")
    return min(int(text), 500)

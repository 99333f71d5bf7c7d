"""Who a Graph call speaks for, and which mailbox it may see."""

from dataclasses import dataclass

from mailroom_sandbox.provider_doubles.microsoft.directory import PROVIDER, Directory, User
from mailroom_sandbox.provider_doubles.microsoft.errors import GraphErrors
from mailroom_sandbox.provider_doubles.tokens import Holder, Tokens
from mailroom_sandbox.provider_doubles.wire import Call, Refused

_READ = frozenset({"Mail.Read", "Mail.ReadWrite"})
_READ_BASIC = frozenset({"Mail.ReadBasic", "Mail.ReadBasic.All"})
_DISABLED: dict[str, tuple[int, str]] = {
    "MailboxNotEnabledForRESTAPI": (404, "The mailbox is either inactive, soft-deleted, or is hosted on-premise."),
    "ErrorAccessDenied": (
        403,
        "Access to OData is disabled: [RAOP] : Blocked by tenant configured AppOnly AccessPolicy settings.",
    ),
}


@dataclass(frozen=True, slots=True)
class Target:
    """The mailbox of a call. `basic` may see neither bodies nor attachments."""

    user: User
    holder: Holder
    basic: bool


class GraphAuthorizer:
    def __init__(self, tokens: Tokens, directory: Directory, errors: GraphErrors) -> None:
        self._tokens = tokens
        self._directory = directory
        self._errors = errors

    def require_holder(self, call: Call) -> Holder:
        scheme, _, value = call.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not value:
            raise self._refuse_token("Access token is empty.")
        found = self._tokens.find_token("access", PROVIDER, value)
        if found.holder is None:
            raise self._refuse_token("Access token validation failure. Invalid audience.")
        if found.problem:
            raise self._refuse_token("Access token has expired or is not yet valid.")
        return found.holder

    def require_user(self, holder: Holder, key: str) -> User:
        if key == "me":
            if holder.user_id is None:
                raise self._errors.bad_request("/me request is only valid with delegated authentication flow.")
            key = holder.user_id
        user = self._directory.find_user(key)
        if user is None or (holder.user_id is None and user.tenant_id != holder.tenant_id):
            raise self._errors.refuse_call(404, "ErrorInvalidUser", f"The requested user '{key}' is invalid.")
        return user

    def require_mailbox(self, holder: Holder, key: str) -> Target:
        user = self.require_user(holder, key)
        if holder.user_id is not None and holder.user_id != user.user_id:
            raise self._errors.access_denied()
        if user.disabled:
            status, text = _DISABLED.get(user.disabled, (404, "The mailbox is not available."))
            raise self._errors.refuse_call(status, user.disabled, text)
        if holder.scopes & _READ:
            return Target(user, holder, basic=False)
        if holder.scopes & _READ_BASIC:
            return Target(user, holder, basic=True)
        raise self._errors.access_denied()

    def _refuse_token(self, text: str) -> Refused:
        return self._errors.refuse_call(
            401, "InvalidAuthenticationToken", text, **{"WWW-Authenticate": 'Bearer realm=""'}
        )

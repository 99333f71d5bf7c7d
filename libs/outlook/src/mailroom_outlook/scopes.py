"""Which permissions each profile asks for, and whether they were given."""

from mailroom_common.errors import Rejected
from mailroom_common.events import Profile

_MICROSOFT_READ = {Profile.OBSERVATION: "Mail.ReadBasic"}
_MICROSOFT_SERVES = {
    "mail.read": {"mail.read", "mail.readwrite"},
    "mail.readbasic": {"mail.readbasic", "mail.read", "mail.readwrite"},
}


def microsoft_scopes(profile: Profile) -> tuple[str, ...]:
    """Beside `openid profile offline_access`, which msal adds by itself and refuses to be given."""
    return ("User.Read", _MICROSOFT_READ.get(profile, "Mail.Read"))


def check_microsoft(profile: Profile, granted: frozenset[str]) -> None:
    """Granted scopes come as short names or as addresses, in any case. Raises Rejected when reading is not allowed."""
    names = {scope.rsplit("/", 1)[-1].lower() for scope in granted}
    wanted = _MICROSOFT_READ.get(profile, "Mail.Read")
    if not names & _MICROSOFT_SERVES[wanted.lower()]:
        raise Rejected(f"the permission {wanted} was not given")

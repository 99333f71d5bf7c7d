"""Which permissions each profile asks for, and whether they were given."""

from mailroom_common.errors import Rejected
from mailroom_common.events import Profile

_GOOGLE = "https://www.googleapis.com/auth/"
# A Gmail token with both `readonly` and `metadata` is refused `q` and full messages: never ask for both.
_GOOGLE_READ = {Profile.OBSERVATION: f"{_GOOGLE}gmail.metadata"}

_GOOGLE_FULL = {f"{_GOOGLE}gmail.readonly", f"{_GOOGLE}gmail.modify", "https://mail.google.com/"}


def google_mail_scope(profile: Profile) -> str:
    return _GOOGLE_READ.get(profile, f"{_GOOGLE}gmail.readonly")


def google_scopes(profile: Profile) -> tuple[str, ...]:
    return ("openid", "email", google_mail_scope(profile))


def check_google(profile: Profile, granted: frozenset[str]) -> None:
    """The user can untick permissions on Google's page. Raises Rejected when reading is not allowed."""
    wanted = google_mail_scope(profile)
    if wanted not in granted and (profile is Profile.OBSERVATION or not granted & _GOOGLE_FULL):
        raise Rejected(f"the permission {wanted.removeprefix(_GOOGLE)} was not given")
    if profile is not Profile.OBSERVATION and f"{_GOOGLE}gmail.metadata" in granted:
        raise Rejected("gmail.metadata was given beside gmail.readonly, which keeps messages from being read")

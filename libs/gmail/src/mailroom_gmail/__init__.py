"""Gmail mailboxes by the Gmail API."""

from mailroom_gmail.package import PACKAGE

__all__ = ["PACKAGE"]

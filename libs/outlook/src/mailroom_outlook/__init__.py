"""Outlook mailboxes by Microsoft Graph."""

from mailroom_outlook.package import PACKAGE

__all__ = ["PACKAGE"]

"""A made-up third provider: what a provider costs beside its one line in each composition root's list.

A postbox has one folder, no tenants, and no push: mail is found by the backstop.
"""

from mailroom_postbox.package import PostboxPackage
from mailroom_postbox.server import PostboxServer

__all__ = ["PostboxPackage", "PostboxServer"]

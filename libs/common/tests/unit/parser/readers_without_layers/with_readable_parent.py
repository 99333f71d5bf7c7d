"""Imported by a parser process of `test_confinement` before it is confined: a parent as readable as the process itself.

A dumpable parent of the superuser is unreadable all the same, since the process has given up its capabilities.
"""

import os

from mailroom_common.parser import confinement

_is_unreadable = confinement._is_unreadable
confinement._is_unreadable = lambda process_id: _is_unreadable(os.getpid())  # noqa: ARG005  # the signature of what it replaces

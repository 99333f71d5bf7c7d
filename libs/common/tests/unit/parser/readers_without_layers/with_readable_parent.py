"""Imported by a parser process of `test_confinement` before it is confined: nothing but its parent protects the parent.

Without a namespace, and with the capabilities that a parent of the superuser has.
"""

from mailroom_common.parser import confinement

confinement._enter_namespaces = lambda libc: False  # noqa: ARG005  # the signature of what it replaces
confinement._drop_capabilities = lambda libc: None  # noqa: ARG005  # the signature of what it replaces

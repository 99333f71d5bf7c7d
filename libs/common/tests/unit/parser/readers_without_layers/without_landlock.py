"""Imported by a parser process of `test_confinement` before it is confined: a kernel without Landlock."""

from mailroom_common.parser import landlock

landlock.restrict_files = lambda libc, readable: False  # noqa: ARG005  # the signature of what it replaces

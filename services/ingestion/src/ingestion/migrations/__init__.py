"""Numbered, forward-only: `mailroom migrate` applies them."""

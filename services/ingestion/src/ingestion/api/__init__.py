"""The documents API (design 7.2)."""

"""One outside system a module."""

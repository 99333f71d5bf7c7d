"""Clients of the mail providers, behind one port."""

"""Migrations of the schema `mailroom_quota`."""

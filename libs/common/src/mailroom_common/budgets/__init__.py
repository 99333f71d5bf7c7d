"""Budgets of provider calls: what all processes of one application may spend together, per mailbox and per project."""

"""Providers that play Microsoft and Google: sign-in, mailboxes, push, and a control API to make things happen.

What they do follows the fact sheets of the project; where those are silent, the strictest plausible reading is taken.
"""

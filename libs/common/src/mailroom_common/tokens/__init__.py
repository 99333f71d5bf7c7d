"""Tokens: sealed at rest, one refresher per connection."""

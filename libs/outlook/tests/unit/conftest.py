from provider_wire import gmail, http, outlook, tokens, wire

__all__ = ["gmail", "http", "outlook", "tokens", "wire"]

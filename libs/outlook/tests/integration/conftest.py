from provider_client_fixtures import connect, gmail, outlook, provider_settings, providers, sandbox, sign_in, store

__all__ = ["connect", "gmail", "outlook", "provider_settings", "providers", "sandbox", "sign_in", "store"]

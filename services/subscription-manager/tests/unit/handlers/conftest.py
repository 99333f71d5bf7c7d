from consent_setup import setup

__all__ = ["setup"]

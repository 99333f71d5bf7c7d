"""From a transcript to fields: rules that need no network. The ports they stand behind are in `ports.py`."""

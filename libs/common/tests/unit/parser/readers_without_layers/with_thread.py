"""Imported by a fork server of `test_pool`: a library that starts a thread as it is imported."""

import threading

threading.Thread(target=threading.Event().wait, daemon=True).start()

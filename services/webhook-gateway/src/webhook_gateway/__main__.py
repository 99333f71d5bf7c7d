"""Runs the webhook gateway: `python -m webhook_gateway`."""

import sys

from mailroom_common.process import run_process
from webhook_gateway.app import run
from webhook_gateway.settings import Settings

if __name__ == "__main__":
    sys.exit(run_process("webhook_gateway", Settings, run))

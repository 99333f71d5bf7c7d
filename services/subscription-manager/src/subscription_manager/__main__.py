"""`python -m subscription_manager`."""

import sys

from mailroom_common.process import run_process
from subscription_manager.app import run
from subscription_manager.settings import Settings

if __name__ == "__main__":
    sys.exit(run_process("subscription_manager", Settings, run))

"""A service without a database loads no database driver."""

import subprocess
import sys


def test_the_gateway_loads_no_database_driver() -> None:
    script = "import sys, webhook_gateway.app; print([name for name in sys.modules if name.startswith('asyncpg')])"
    # A process of its own: in this one other tests have imported the driver.
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert loaded.stdout.strip() == "[]"

"""For every test: none fails because the machine is slow, and only the tests' own processes are measured."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("mailroom", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mailroom")

# Coverage of the services that tests start as processes would cost two fifths of each start, and there are hundreds.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("COVERAGE_PROCESS_CONFIG", None)

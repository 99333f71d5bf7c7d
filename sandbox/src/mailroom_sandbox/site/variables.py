"""Variables that a site on one machine reads itself, and those of the services that it makes up where none are given.

The settings of the services are their own (`settings.py` of each); docs/settings.md lists both.
"""

SITE_VARIABLES = {
    "MAILROOM_ENV_FILE": "File that `make up` and `make run` read settings from, instead of `.env` in the checkout.",
    "MAILROOM_FRONT_PORT": "Port of the reverse proxy; without it one is chosen once and kept in `ports.json`.",
    "MAILROOM_HOME": "Folder of the site's state, instead of `.mailroom` in the checkout.",
}
# `MAILROOM_SANDBOX_…` are of the provider doubles, `MAILROOM_TEST_…` of the tests.
FOREIGN_PREFIXES = ("MAILROOM_SANDBOX_", "MAILROOM_TEST_")

MADE_BY_THE_SITE = (
    "MAILROOM_API_KEYS",
    "MAILROOM_BLOB_URL",
    "MAILROOM_DATABASE_URL",
    "MAILROOM_KAFKA_BOOTSTRAP",
    "MAILROOM_PUBLIC_URL",
    "MAILROOM_TOKEN_KEYS",
)

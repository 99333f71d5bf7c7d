"""Every test may ask for a real Kafka and a real Postgres."""

pytest_plugins = ["mailroom_sandbox.testing"]

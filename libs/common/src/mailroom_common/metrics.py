"""Every metric of Mailroom in one typed list, with its unit in the name and its meaning beside it.

Labels are few and bounded: a topic, a schema, a reason; never an id.
"""

from prometheus_client import Counter, Gauge, Histogram

# Outbox relay (outbox.py)
OUTBOX_PUBLISHED = Counter(
    "mailroom_outbox_published_total", "Outbox rows that Kafka acknowledged and that were deleted.", ["schema"]
)
OUTBOX_FAILED_SENDS = Counter(
    "mailroom_outbox_failed_sends_total",
    "Outbox rows that Kafka did not acknowledge in time; they are sent again.",
    ["schema"],
)
OUTBOX_LEADER = Gauge(
    "mailroom_outbox_leader", "1 while this process holds the schema's relay lock, else 0.", ["schema"]
)
OUTBOX_DELAY_S = Histogram(
    "mailroom_outbox_delay_seconds",
    "From the insert of an outbox row to its acknowledgement, by this process's clock.",
    ["schema"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120, 600),
)

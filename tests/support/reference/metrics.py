"""The metrics: every collector of `mailroom_common.metrics`, which is the one list of them."""

from prometheus_client import Counter, Gauge, Histogram

from mailroom_common import metrics
from reference.sources import Section, format_table


def read_metrics() -> Section:
    rows, gaps = [], []
    collectors = [value for value in vars(metrics).values() if isinstance(value, Counter | Gauge | Histogram)]
    for collector in sorted(collectors, key=lambda collector: next(iter(collector.describe())).name):
        described = next(iter(collector.describe()))
        # prometheus_client keeps a counter without the suffix that it writes.
        name = described.name + ("_total" if described.type == "counter" else "")
        labels = ", ".join(f"`{label}`" for label in collector._labelnames)
        rows.append([f"`{name}`", described.type, labels, described.documentation])
        if not described.documentation:
            gaps.append(f"metric: {name} has no meaning")
    text = "## Metrics\n\nOf each process at `/metrics`; a process shows the ones of its own work.\n\n"
    return Section(text + format_table(("metric", "type", "labels", "meaning"), rows), gaps)

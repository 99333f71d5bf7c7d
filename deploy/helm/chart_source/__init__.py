"""What the chart's generated files are made from: the components, the values' models, topics and dashboards."""

from pathlib import Path

CHART = Path(__file__).parents[1] / "mailroom"

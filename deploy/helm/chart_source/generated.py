"""Every generated file of the chart, by its path."""

from chart_source.dashboards import render_dashboards
from chart_source.documents import render_readme, render_values
from chart_source.files import render_components, render_jobs, render_kafka_users, render_topics
from chart_source.schema import render_schema


def render_generated_files() -> dict[str, str]:
    return {
        "values.yaml": render_values(),
        "values.schema.json": render_schema(),
        "README.md": render_readme(),
        "files/components.yaml": render_components(),
        "files/jobs.yaml": render_jobs(),
        "files/kafka-users.yaml": render_kafka_users(),
        "files/topics.yaml": render_topics(),
        **{f"files/dashboards/{name}": text for name, text in render_dashboards().items()},
    }

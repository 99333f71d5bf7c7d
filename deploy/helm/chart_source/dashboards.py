"""Grafana's dashboards: each a list of panels, and each panel a title, a unit and what Prometheus is asked."""

import json
from dataclasses import dataclass
from typing import Any

Block = dict[str, Any]  # Any: JSON

# Every question is about one namespace, which a variable of the dashboard chooses.
_WHERE = 'namespace=~"$namespace"'
_WIDTH, _HEIGHT, _PER_ROW = 8, 8, 3


@dataclass(frozen=True, slots=True)
class Panel:
    """`queries` by the legend that their series have; `@` stands for the selector of the namespace."""

    title: str
    queries: dict[str, str]
    unit: str = "short"
    description: str = ""
    kind: str = "timeseries"


@dataclass(frozen=True, slots=True)
class Dashboard:
    name: str
    title: str
    panels: tuple[Panel, ...]


def _rate(metric: str, by: str, labels: str = "@") -> str:
    return f"sum by ({by}) (rate({metric}{{{labels}}}[$__rate_interval]))"


def _quantile(quantile: float, metric: str, by: str = "") -> str:
    grouped = f"le, {by}" if by else "le"
    return f"histogram_quantile({quantile}, sum by ({grouped}) (rate({metric}_bucket{{@}}[$__rate_interval])))"


def _percentiles(metric: str) -> dict[str, str]:
    return {f"p{round(quantile * 100)}": _quantile(quantile, metric) for quantile in (0.5, 0.95, 0.99)}


_RESPONSES = "mailroom_gateway_responses_total"
_SLOW = 'le="2.9", @'

DASHBOARDS = (
    Dashboard(
        "overview",
        "Mailroom: overview",
        (
            Panel("Copies that answer", {"{{job}}": "sum by (job) (up{@})"}, kind="stat"),
            Panel("Doc sources", {"": "max(mailroom_directory_doc_sources{@})"}, kind="stat"),
            Panel("Syncs pending", {"": "sum(mailroom_sync_requests_pending{@})"}, kind="stat"),
            Panel(
                "Pushes answered without 5xx, 30 days",
                {"": f'1 - sum(rate({_RESPONSES}{{status=~"5..", @}}[30d])) / sum(rate({_RESPONSES}{{@}}[30d]))'},
                unit="percentunit",
                description="Objective: 99.9 %.",
                kind="stat",
            ),
            Panel("Documents finished", {"{{status}}": _rate("mailroom_ingestion_documents_finished_total", "status")}),
            Panel("Syncs handled", {"{{outcome}}": _rate("mailroom_sync_request_handling_seconds_count", "outcome")}),
            Panel(
                "Alarms of the code",
                {
                    "dead letters": "sum(increase(mailroom_kafka_dead_letters_total{@}[1h]))",
                    "blocked aggregates": "max(mailroom_outbox_blocked_aggregates{@})",
                    "partitions without schema": "sum(mailroom_kafka_partitions_awaiting_schema{@})",
                    "partitions before an upgrade": "sum(mailroom_kafka_partitions_awaiting_upgrade{@})",
                },
                description="Each of these stays at 0 on a healthy site.",
            ),
        ),
    ),
    Dashboard(
        "gateway",
        "Mailroom: webhooks",
        (
            Panel("Responses", {"{{provider}} {{status}}": _rate(_RESPONSES, "provider, status")}, unit="reqps"),
            Panel("Time to answer", _percentiles("mailroom_gateway_response_seconds"), unit="s"),
            Panel(
                "Answers to Graph after 2.9 s",
                {
                    "": f'1 - sum(rate(mailroom_gateway_response_seconds_bucket{{provider="outlook", {_SLOW}}}'
                    "[$__rate_interval])) / sum(rate(mailroom_gateway_response_seconds_count"
                    '{provider="outlook", @}[$__rate_interval]))'
                },
                unit="percentunit",
                description="At 10 % Graph delays notifications, at 15 % it drops them.",
            ),
            Panel("Items", {"{{provider}} {{outcome}}": _rate("mailroom_gateway_items_total", "provider, outcome")}),
            Panel("Key fetches", {"{{outcome}}": _rate("mailroom_gateway_google_key_fetches_total", "outcome")}),
            Panel(
                "Doc sources in memory",
                {
                    "{{pod}}": "max by (pod) (mailroom_directory_doc_sources{@})",
                    "unreadable, {{pod}}": "max by (pod) (mailroom_directory_doc_sources_unreadable{@})",
                },
            ),
        ),
    ),
    Dashboard(
        "sync",
        "Mailroom: syncs and providers",
        (
            Panel("Pending", {"{{topic}}": "sum by (topic) (mailroom_sync_requests_pending{@})"}),
            Panel("Handled", {"{{outcome}}": _rate("mailroom_sync_request_handling_seconds_count", "outcome")}),
            Panel("Time to handle", _percentiles("mailroom_sync_request_handling_seconds"), unit="s"),
            Panel(
                "Coalescing",
                {
                    "notifications": "sum(rate(mailroom_coalescer_notifications_total{@}[$__rate_interval]))",
                    "requests, {{kind}}": _rate("mailroom_coalescer_requests_total", "kind"),
                },
            ),
            Panel(
                "Provider calls",
                {"{{provider}} {{outcome}}": _rate("mailroom_provider_calls_total", "provider, outcome")},
            ),
            Panel(
                "Provider time, p95",
                {"{{provider}}": _quantile(0.95, "mailroom_provider_call_seconds", "provider")},
                "s",
            ),
            Panel(
                "Throttled calls",
                {"{{provider}} {{call}}": _rate("mailroom_provider_calls_total", "provider, call", 'outcome="429", @')},
            ),
            Panel(
                "Requests restored",
                {"": "sum(rate(mailroom_sync_requests_restored_total{@}[$__rate_interval]))"},
                description="Appended again after a partition moved; harmless and rare.",
            ),
        ),
    ),
    Dashboard(
        "subscriptions",
        "Mailroom: subscriptions and tokens",
        (
            Panel(
                "Steps",
                {
                    "{{provider}} {{step}} {{outcome}}": _rate(
                        "mailroom_subscription_manager_steps_total", "provider, step, outcome"
                    )
                },
            ),
            Panel(
                "Backstop syncs",
                {"": "sum(rate(mailroom_subscription_manager_backstop_syncs_total{@}[$__rate_interval]))"},
            ),
            Panel(
                "Consents",
                {
                    "{{provider}} {{outcome}}": _rate(
                        "mailroom_subscription_manager_consents_total", "provider, outcome"
                    )
                },
            ),
            Panel(
                "Token refreshes",
                {"{{provider}} {{outcome}}": _rate("mailroom_token_refreshes_total", "provider, outcome")},
            ),
        ),
    ),
    Dashboard(
        "ingestion",
        "Mailroom: documents",
        (
            Panel("Recorded", {"{{kind}}": _rate("mailroom_ingestion_attachments_recorded_total", "kind")}),
            Panel(
                "Finished",
                {"{{status}} {{reason}}": _rate("mailroom_ingestion_documents_finished_total", "status, reason")},
            ),
            Panel("Time of an attempt", _percentiles("mailroom_ingestion_attempt_seconds"), unit="s"),
            Panel("Retries", {"": "sum(rate(mailroom_ingestion_document_retries_total{@}[$__rate_interval]))"}),
            Panel("Parser processes", {"{{outcome}}": _rate("mailroom_parser_files_total", "outcome")}),
            Panel(
                "Confinement",
                {"{{layer}}": "min by (layer) (mailroom_parser_confinement_layer{@})"},
                description="1 where every worker has the layer.",
            ),
        ),
    ),
    Dashboard(
        "kafka",
        "Mailroom: Kafka, outboxes, processes",
        (
            Panel(
                "Records handled",
                {"{{group}} {{topic}}": _rate("mailroom_kafka_records_handled_total", "group, topic")},
            ),
            Panel("Retries", {"{{group}} {{topic}}": _rate("mailroom_kafka_retries_total", "group, topic")}),
            Panel(
                "Dead letters",
                {"{{topic}} {{reason}}": "sum by (topic, reason) (increase(mailroom_kafka_dead_letters_total{@}[1h]))"},
            ),
            Panel("Partitions lost", {"{{group}}": _rate("mailroom_kafka_partitions_lost_total", "group")}),
            Panel("Outbox rows", {"{{schema}}": _rate("mailroom_outbox_rows_published_total", "schema")}),
            Panel(
                "Outbox delay, p95",
                {"{{schema}}": _quantile(0.95, "mailroom_outbox_publish_delay_seconds", "schema")},
                "s",
            ),
            Panel(
                "Outbox sends that failed",
                {"{{schema}}": _rate("mailroom_outbox_send_attempts_failed_total", "schema")},
            ),
            Panel("Relays", {"{{schema}}": "sum by (schema) (mailroom_outbox_leader{@})"}),
            Panel(
                "Producers replaced",
                {"{{job}}": "sum by (job) (increase(mailroom_kafka_producers_replaced_total{@}[1h]))"},
            ),
            Panel("CPU", {"{{job}}": _rate("process_cpu_seconds_total", "job")}),
            Panel("Memory", {"{{pod}}": "max by (pod) (process_resident_memory_bytes{@})"}, unit="bytes"),
            Panel("Schema records that are none", {"": "sum(mailroom_kafka_schema_records_invalid_total{@})"}),
        ),
    ),
)


def render_dashboards() -> dict[str, str]:
    """The JSON of each dashboard, by the name of its file."""
    return {f"{dashboard.name}.json": json.dumps(_describe(dashboard), indent=1) + "\n" for dashboard in DASHBOARDS}


def _describe(dashboard: Dashboard) -> Block:
    return {
        "uid": f"mailroom-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["mailroom"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_datasource_variable(), _namespace_variable()]},
        "panels": [_describe_panel(number, panel) for number, panel in enumerate(dashboard.panels)],
    }


def _datasource_variable() -> Block:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _namespace_variable() -> Block:
    return {
        "name": "namespace",
        "type": "query",
        "label": "Namespace",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "query": "label_values(mailroom_directory_doc_sources, namespace)",
        "includeAll": True,
        "multi": True,
        "refresh": 2,
    }


def _describe_panel(number: int, panel: Panel) -> Block:
    row, column = divmod(number, _PER_ROW)
    return {
        "id": number + 1,
        "title": panel.title,
        "description": panel.description,
        "type": panel.kind,
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "expr": query.replace("@", _WHERE), "legendFormat": legend or "total"}
            for index, (legend, query) in enumerate(panel.queries.items())
        ],
    }

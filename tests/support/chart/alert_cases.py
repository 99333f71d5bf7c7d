"""For each alert what makes it fire, and what comes close and must not.

A series is written as promtool has it: `0+5x60` begins at 0 and grows by 5 a minute for 60 minutes.
"""

from dataclasses import dataclass, field

Series = dict[str, str]


@dataclass(frozen=True, slots=True)
class AlertCase:
    """`labels` are those of the firing alert beside its severity; `at` is when it is looked at."""

    fires: Series
    stays_quiet: Series
    labels: dict[str, str] = field(default_factory=lambda: {"namespace": "mail"})
    severity: str = "warning"
    at: str = "60m"
    interval: str = "1m"


def _responses(status: str, provider: str = "outlook") -> str:
    return f'mailroom_gateway_responses_total{{namespace="mail", provider="{provider}", status="{status}"}}'


def _bucket(limit: str) -> str:
    return f'mailroom_gateway_response_seconds_bucket{{namespace="mail", provider="outlook", le="{limit}"}}'


_RESPONSE_COUNT = 'mailroom_gateway_response_seconds_count{namespace="mail", provider="outlook"}'
_PENDING = 'mailroom_sync_requests_pending{namespace="mail", pod="a"}'
_HANDLED = 'mailroom_sync_request_handling_seconds_count{namespace="mail", outcome="done"}'
_OUTLOOK = {"namespace": "mail", "provider": "outlook"}


def _calls(outcome: str) -> str:
    return f'mailroom_provider_calls_total{{namespace="mail", provider="outlook", call="list", outcome="{outcome}"}}'


def _refreshes(outcome: str) -> str:
    return f'mailroom_token_refreshes_total{{namespace="mail", provider="outlook", outcome="{outcome}"}}'


def _steps(outcome: str) -> str:
    labels = f'namespace="mail", provider="outlook", step="renew", outcome="{outcome}"'
    return f"mailroom_subscription_manager_steps_total{{{labels}}}"


def _not_taken(reason: str) -> str:
    return f'mailroom_sync_parts_not_taken_total{{namespace="mail", pod="a", reason="{reason}"}}'


def _finished(status: str) -> str:
    return f'mailroom_ingestion_documents_finished_total{{namespace="mail", status="{status}", reason=""}}'


def _files(outcome: str) -> str:
    return f'mailroom_parser_files_total{{namespace="mail", outcome="{outcome}"}}'


def _waiting(lane: str) -> str:
    return f'mailroom_ingestion_backlog_age_seconds{{namespace="mail", pod="a", lane="{lane}"}}'


def _up(pod: str) -> str:
    return f'up{{namespace="mail", job="ingestion-api", pod="{pod}"}}'


_START = 'process_start_time_seconds{namespace="mail", job="sync-engine-worker", pod="a"}'
_DEAD = 'mailroom_kafka_dead_letters_total{namespace="mail", group="g", topic="attachments", reason="bug"}'
_RECORD = 'namespace="mail", group="g", topic="attachments"'
_DELAY = 'mailroom_outbox_publish_delay_seconds_bucket{namespace="mail", schema="ingestion", le="%s"}'
_LAYER = 'mailroom_parser_confinement_layer{namespace="mail", layer="seccomp_filter"}'

_CLOCK = 'mailroom_process_clock_timestamp_seconds{namespace="mail", job="sync-engine-worker", pod="a"}'
_EXPIRY = 'mailroom_subscription_manager_earliest_expiry_timestamp_seconds{namespace="mail", provider="outlook"}'

CASES: dict[str, AlertCase] = {
    "MailroomClockWrong": AlertCase(
        fires={_CLOCK: "20+60x60"},
        stays_quiet={_CLOCK: "5+60x60"},
        labels={"namespace": "mail", "job": "sync-engine-worker", "pod": "a"},
    ),
    # At 60 minutes the end is 30 minutes away, or 70.
    "MailroomSubscriptionExpiring": AlertCase(
        fires={_EXPIRY: "5400x60"}, stays_quiet={_EXPIRY: "7800x60"}, labels=_OUTLOOK, severity="critical"
    ),
    "MailroomDocumentsWaiting": AlertCase(
        fires={_waiting("live"): "0+60x60"}, stays_quiet={_waiting("live"): "240x60", _waiting("backfill"): "0+60x60"}
    ),
    "MailroomProcessAbsent": AlertCase(
        fires={_up("a"): "0x60", _up("b"): "0x60"},
        stays_quiet={_up("a"): "0x60", _up("b"): "1x60"},
        labels={"namespace": "mail", "job": "ingestion-api"},
        severity="critical",
    ),
    "MailroomProcessRestarting": AlertCase(
        fires={_START: "0x30 1x5 2x5 3x5 4x20"},
        stays_quiet={_START: "0x30 1x10 2x20"},
        labels={"namespace": "mail", "job": "sync-engine-worker", "pod": "a"},
    ),
    "MailroomWebhooksFailingFast": AlertCase(
        fires={_responses("202"): "0+100x60", _responses("503"): "0+5x60"},
        stays_quiet={_responses("202"): "0+100x60", _responses("503"): "0+1x60"},
        labels=_OUTLOOK,
        severity="critical",
    ),
    "MailroomWebhooksFailing": AlertCase(
        fires={_responses("202"): "0+1000x36", _responses("503"): "0+10x36"},
        stays_quiet={_responses("202"): "0+10000x36", _responses("503"): "0+10x36"},
        labels=_OUTLOOK,
        severity="critical",
        at="6h",
        interval="10m",
    ),
    "MailroomWebhooksBudgetBurning": AlertCase(
        fires={_responses("202"): "0+15000x144", _responses("503"): "0+30x144"},
        stays_quiet={_responses("202"): "0+60000x144", _responses("503"): "0+30x144"},
        labels=_OUTLOOK,
        at="72h",
        interval="30m",
    ),
    "MailroomWebhooksSlow": AlertCase(
        fires={_RESPONSE_COUNT: "0+100x60", _bucket("2.9"): "0+90x60"},
        stays_quiet={_RESPONSE_COUNT: "0+100x60", _bucket("2.9"): "0+98x60"},
        severity="critical",
    ),
    "MailroomPushesNotGenuine": AlertCase(
        fires={_responses("202"): "0+1x60", _responses("401"): "0+10x60"},
        stays_quiet={_responses("202"): "0+100x60", _responses("401"): "0+10x60"},
        labels=_OUTLOOK,
    ),
    "MailroomGoogleKeysUnavailable": AlertCase(
        fires={'mailroom_gateway_google_key_fetches_total{namespace="mail", outcome="failed"}': "0+1x60"},
        stays_quiet={
            'mailroom_gateway_google_key_fetches_total{namespace="mail", outcome="failed"}': "0+1x60",
            'mailroom_gateway_google_key_fetches_total{namespace="mail", outcome="ok"}': "0+1x60",
        },
    ),
    "MailroomDirectoryUnreadable": AlertCase(
        fires={'mailroom_directory_doc_sources_unreadable{namespace="mail", job="webhook-gateway"}': "2x60"},
        stays_quiet={'mailroom_directory_doc_sources_unreadable{namespace="mail", job="webhook-gateway"}': "0x60"},
        labels={"namespace": "mail", "job": "webhook-gateway"},
    ),
    "MailroomDeadLetters": AlertCase(
        fires={_DEAD: "0x30 1x30"},
        stays_quiet={_DEAD: "3x60"},
        labels={"namespace": "mail", "group": "g", "topic": "attachments", "reason": "bug"},
    ),
    "MailroomPartitionsAwaitSchema": AlertCase(
        fires={'mailroom_kafka_partitions_awaiting_schema{namespace="mail", group="g", pod="a"}': "1x60"},
        stays_quiet={'mailroom_kafka_partitions_awaiting_schema{namespace="mail", group="g", pod="a"}': "0x55 1x5"},
        labels={"namespace": "mail", "group": "g"},
        severity="critical",
    ),
    "MailroomPartitionsAwaitUpgrade": AlertCase(
        fires={'mailroom_kafka_partitions_awaiting_upgrade{namespace="mail", group="g", pod="a"}': "1x60"},
        stays_quiet={'mailroom_kafka_partitions_awaiting_upgrade{namespace="mail", group="g", pod="a"}': "1x12 0x48"},
        labels={"namespace": "mail", "group": "g"},
        severity="critical",
    ),
    "MailroomProducersReplaced": AlertCase(
        fires={'mailroom_kafka_producers_replaced_total{namespace="mail", job="webhook-gateway"}': "0+1x60"},
        stays_quiet={'mailroom_kafka_producers_replaced_total{namespace="mail", job="webhook-gateway"}': "0x50 1x10"},
        labels={"namespace": "mail", "job": "webhook-gateway"},
    ),
    "MailroomPartitionsLost": AlertCase(
        fires={'mailroom_kafka_partitions_lost_total{namespace="mail", group="g"}': "0+8x60"},
        stays_quiet={'mailroom_kafka_partitions_lost_total{namespace="mail", group="g"}': "0x40 48x20"},
        labels={"namespace": "mail", "group": "g"},
    ),
    "MailroomConsumerStalled": AlertCase(
        fires={f"mailroom_kafka_retries_total{{{_RECORD}}}": "0+2x60"},
        stays_quiet={
            f"mailroom_kafka_retries_total{{{_RECORD}}}": "0+2x60",
            f"mailroom_kafka_records_handled_total{{{_RECORD}}}": "0+1x60",
        },
        labels={"namespace": "mail", "group": "g", "topic": "attachments"},
        severity="critical",
    ),
    "MailroomSyncsStalled": AlertCase(
        fires={_PENDING: "5x60", _HANDLED: "100x60"},
        stays_quiet={_PENDING: "5x60", _HANDLED: "0+1x60"},
        severity="critical",
    ),
    "MailroomSyncsBehind": AlertCase(
        fires={_PENDING: "500x60", _HANDLED: "0+10x60"},
        stays_quiet={_PENDING: "500x60", _HANDLED: "0+100x60"},
    ),
    "MailroomBackstopSilent": AlertCase(
        fires={
            'mailroom_directory_doc_sources{namespace="mail", pod="a"}': "10x90",
            'mailroom_subscription_manager_backstop_syncs_total{namespace="mail"}': "40x90",
        },
        stays_quiet={
            'mailroom_directory_doc_sources{namespace="mail", pod="a"}': "10x90",
            'mailroom_subscription_manager_backstop_syncs_total{namespace="mail"}': "0+1x90",
        },
        severity="critical",
        at="90m",
    ),
    "MailroomProviderUnreachable": AlertCase(
        fires={_calls("200"): "0+1x60", _calls("unreachable"): "0+10x60"},
        stays_quiet={_calls("200"): "0+10x60", _calls("unreachable"): "0+1x60"},
        labels=_OUTLOOK,
    ),
    "MailroomProviderThrottling": AlertCase(
        fires={_calls("200"): "0+10x90", _calls("429"): "0+5x90"},
        stays_quiet={_calls("200"): "0+100x90", _calls("429"): "0+5x90"},
        labels=_OUTLOOK,
        at="90m",
    ),
    "MailroomTokenRefreshFailing": AlertCase(
        fires={_refreshes("fresh"): "0+10x60", _refreshes("failed"): "0+1x60"},
        stays_quiet={_refreshes("fresh"): "0+100x60", _refreshes("failed"): "0+1x60"},
        labels=_OUTLOOK,
    ),
    "MailroomGrantsRefused": AlertCase(
        fires={_refreshes("refused"): "0+1x60"},
        stays_quiet={_refreshes("refused"): "0x30 1x30"},
        labels=_OUTLOOK,
    ),
    "MailroomSubscriptionStepsFailing": AlertCase(
        fires={_steps("done"): "0x90", _steps("retry_later"): "0+1x90"},
        stays_quiet={_steps("done"): "0+2x90", _steps("retry_later"): "0+1x90"},
        labels={**_OUTLOOK, "step": "renew"},
        at="90m",
    ),
    "MailroomOutboxWithoutRelay": AlertCase(
        fires={
            'mailroom_outbox_leader{namespace="mail", schema="ingestion", pod="a"}': "0x60",
            'mailroom_outbox_leader{namespace="mail", schema="ingestion", pod="b"}': "0x60",
        },
        stays_quiet={
            'mailroom_outbox_leader{namespace="mail", schema="ingestion", pod="a"}': "0x60",
            'mailroom_outbox_leader{namespace="mail", schema="ingestion", pod="b"}': "1x60",
        },
        labels={"namespace": "mail", "schema": "ingestion"},
        severity="critical",
    ),
    "MailroomOutboxSlow": AlertCase(
        fires={_DELAY % "30": "0+1x60", _DELAY % "120": "0+10x60", _DELAY % "+Inf": "0+10x60"},
        stays_quiet={_DELAY % "30": "0+10x60", _DELAY % "120": "0+10x60", _DELAY % "+Inf": "0+10x60"},
        labels={"namespace": "mail", "schema": "ingestion"},
    ),
    "MailroomOutboxBlocked": AlertCase(
        fires={'mailroom_outbox_blocked_aggregates{namespace="mail", schema="ingestion"}': "1x60"},
        stays_quiet={'mailroom_outbox_blocked_aggregates{namespace="mail", schema="ingestion"}': "0x60"},
        labels={"namespace": "mail", "schema": "ingestion"},
        severity="critical",
    ),
    "MailroomMessagesOverdue": AlertCase(
        fires={'mailroom_sync_engine_messages_overdue{namespace="mail", pod="a"}': "3x180"},
        stays_quiet={'mailroom_sync_engine_messages_overdue{namespace="mail", pod="a"}': "3x90 0x90"},
        at="150m",
    ),
    "MailroomPartsNotTaken": AlertCase(
        fires={_not_taken("damaged"): "0+1x60"},
        stays_quiet={_not_taken("damaged"): "0x50 1+1x9", _not_taken("too_large"): "0x50 1+1x9"},
        labels={"namespace": "mail", "reason": "damaged"},
    ),
    "MailroomDocumentsFailing": AlertCase(
        fires={_finished("completed"): "0+5x60", _finished("failed"): "0+1x60"},
        stays_quiet={_finished("completed"): "0+100x60", _finished("failed"): "0+1x60"},
    ),
    "MailroomDocumentsStalled": AlertCase(
        fires={
            'mailroom_ingestion_attachments_recorded_total{namespace="mail", kind="document"}': "0+1x90",
            _finished("completed"): "7x90",
        },
        stays_quiet={
            'mailroom_ingestion_attachments_recorded_total{namespace="mail", kind="document"}': "0+1x90",
            _finished("completed"): "0+1x90",
        },
        severity="critical",
        at="90m",
    ),
    "MailroomParserCrashing": AlertCase(
        fires={_files("read"): "0+5x60", _files("crashed"): "0+1x60"},
        stays_quiet={_files("read"): "0+50x60", _files("crashed"): "0+1x60"},
    ),
    "MailroomParserUnconfined": AlertCase(
        fires={_LAYER: "0x60"},
        stays_quiet={_LAYER: "1x60"},
        labels={"namespace": "mail", "layer": "seccomp_filter"},
        severity="critical",
    ),
}

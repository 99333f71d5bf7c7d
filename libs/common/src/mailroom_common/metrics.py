"""Every metric of Mailroom in one typed list, with its unit in the name and its meaning beside it.

Labels are few and bounded: a topic, a schema, a reason; never an id.
"""

from prometheus_client import Counter, Gauge, Histogram

# Every process (web.py)
PROCESS_CLOCK = Gauge(
    "mailroom_process_clock_timestamp_seconds",
    "The process's clock as Unix time when it is read: Prometheus's own time beside it shows a clock that is wrong.",
)

# Outbox relay (outbox.py)
OUTBOX_PUBLISHED = Counter(
    "mailroom_outbox_rows_published_total", "Outbox rows that Kafka acknowledged and that were deleted.", ["schema"]
)
OUTBOX_FAILED_SENDS = Counter(
    "mailroom_outbox_send_attempts_failed_total",
    "Outbox rows that Kafka did not acknowledge in time; they are sent again.",
    ["schema"],
)
OUTBOX_BLOCKED_AGGREGATES = Gauge(
    "mailroom_outbox_blocked_aggregates",
    "Aggregates whose next outbox row Kafka can never take: they wait for an operator, as outbox.py says. Alarm.",
    ["schema"],
)
OUTBOX_LEADER = Gauge(
    "mailroom_outbox_leader", "1 while this process holds the schema's relay lock, else 0.", ["schema"]
)
OUTBOX_DELAY_S = Histogram(
    "mailroom_outbox_publish_delay_seconds",
    "From the insert of an outbox row to its acknowledgement, by this process's clock.",
    ["schema"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120, 600),
)

# Calls of the providers (providers/calls.py)
PROVIDER_CALLS = Counter(
    "mailroom_provider_calls_total",
    "Calls of a provider's API by what came back: a status, or `unreachable`.",
    ["provider", "call", "outcome"],
)
PROVIDER_CALL_S = Histogram(
    "mailroom_provider_call_seconds",
    "From sending a call to the end of its answer, streamed bytes included.",
    ["provider", "call"],
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 120),
)
TOKEN_REFRESHES = Counter(
    "mailroom_token_refreshes_total",
    "Refreshes of access tokens by outcome: `fresh`, `refused`, `failed`.",
    ["provider", "outcome"],
)

# Kafka clients (kafka/)
KAFKA_PRODUCERS_REPLACED = Counter(
    "mailroom_kafka_producers_replaced_total", "Producers that died of a fatal error (fenced, out of sequence). Alarm."
)
KAFKA_SCHEMA_RECORDS_INVALID = Counter(
    "mailroom_kafka_schema_records_invalid_total",
    "Records of `schemas` whose value is not the schema that the key names.",
)
KAFKA_RECORDS_HANDLED = Counter(
    "mailroom_kafka_records_handled_total",
    "Records that a consumer finished, dead letters included.",
    ["group", "topic"],
)
KAFKA_RETRIES = Counter(
    "mailroom_kafka_retries_total", "Attempts at a record that failed and are made again.", ["group", "topic"]
)
KAFKA_DEAD_LETTERS = Counter(
    "mailroom_kafka_dead_letters_total",
    "Records put into `<topic>.dlq`; reason `bug` is our own failure after all attempts. Alarm.",
    ["group", "topic", "reason"],
)
KAFKA_PARTITIONS_AWAITING_SCHEMA = Gauge(
    "mailroom_kafka_partitions_awaiting_schema",
    "Partitions that stand still because `schemas` does not explain a fingerprint yet. Alarm.",
    ["group"],
)
KAFKA_PARTITIONS_AWAITING_UPGRADE = Gauge(
    "mailroom_kafka_partitions_awaiting_upgrade",
    "Partitions that stand still because a newer build wrote an enum symbol that this one does not have. Alarm.",
    ["group"],
)
KAFKA_PARTITIONS_LOST = Counter(
    "mailroom_kafka_partitions_lost_total",
    "Partitions whose commit was refused since another member has them: their work in hand was dropped.",
    ["group"],
)
DIRECTORY_SOURCES = Gauge("mailroom_directory_doc_sources", "Doc sources that this process holds in memory.")
DIRECTORY_UNREADABLE = Gauge(
    "mailroom_directory_doc_sources_unreadable",
    "Doc sources whose newest record this process cannot read: corrupt, or written by a schema not known yet.",
)

# sync-engine
SYNC_REQUEST_HANDLING_S = Histogram(
    "mailroom_sync_request_handling_seconds",
    "From the claim of a sync request to its outcome: `done`, `unfinished` (it gave its slot back and goes on), "
    "`retry`, `not_syncable`, `postponed` or `resting`.",
    ["outcome"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800),
)
SYNC_REQUESTS_PENDING = Gauge(
    "mailroom_sync_requests_pending",
    "Doc sources with a pending sync request in the partitions of this process.",
    ["topic"],
)
ATTACHMENTS_REEMITTED = Counter(
    "mailroom_sync_engine_attachments_reemitted_total",
    "Records of `attachments` that were sent again, as no result had come within `MAILROOM_REEMIT_AFTER_S`.",
)
MESSAGES_OVERDUE = Gauge(
    "mailroom_sync_engine_messages_overdue",
    "Messages with a part that was stored longer than `MAILROOM_REEMIT_AFTER_S` ago and has no result. Each worker "
    "counts all of them, up to 10,000; NaN: they could not be counted.",
)
SYNC_REQUESTS_RESTORED = Counter(
    "mailroom_sync_requests_restored_total",
    "Requests appended again because a late tombstone stood behind them: a partition had just moved. Harmless, rare.",
)
COALESCER_REQUESTS = Counter(
    "mailroom_coalescer_requests_total",
    "Requests that the coalescer sent: `first` of a burst, or `trailing` at the end of its window.",
    ["kind"],
)
COALESCER_NOTIFICATIONS = Counter(
    "mailroom_coalescer_notifications_total", "Notifications that the coalescer received."
)
SYNC_ENGINE_PARKED = Gauge(
    "mailroom_sync_engine_parked",
    "What could not be stored and is tried again, by reason and kind (`message`, `part`). Every worker reports the "
    "same.",
    ["reason", "kind"],
)
SYNC_MESSAGES_PASSED_OVER = Counter(
    "mailroom_sync_messages_passed_over_total",
    "Messages that a page showed and that are not recorded: `elsewhere` (not watched there), `before_start` (older "
    "than the source's start), `not_moved` (one that was not due before had its labels changed). Repeats count too.",
    ["why"],
)
SYNC_PARTS_NOT_TAKEN = Counter(
    "mailroom_sync_parts_not_taken_total",
    "Parts of mails that may be documents and that nobody has seen the content of, by reason: `too_large`, "
    "`too_many_parts`, `unavailable`, `damaged`. Their mails are `needs_review` in `GET /messages`.",
    ["reason"],
)
COALESCER_RECOVERY_RECORDS_LEFT = Gauge(
    "mailroom_coalescer_recovery_records_left",
    "Changelog records that the coalescer still has to read before it takes notifications again; 0 while it works.",
)

# webhook-gateway
GATEWAY_RESPONSES = Counter(
    "mailroom_gateway_responses_total",
    "Responses to requests on the webhook routes, by status.",
    ["provider", "status"],
)
GATEWAY_RESPONSE_S = Histogram(
    "mailroom_gateway_response_seconds",
    "From the head of a request on the webhook routes to its response. Graph counts those above 2.9 s as slow.",
    ["provider"],
    buckets=(0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.9, 5),
)
GATEWAY_ITEMS = Counter(
    "mailroom_gateway_items_total",
    "Items of pushes: `written` to Kafka, `dropped` (doc source pending, paused or being deleted), `mismatched` "
    "(client state), `unknown_address` (Gmail), `malformed` (a pulled message that is no notification).",
    ["provider", "outcome"],
)
GATEWAY_KEY_FETCHES = Counter(
    "mailroom_gateway_google_key_fetches_total", "Fetches of Google's public keys, `ok` or `failed`.", ["outcome"]
)

# Blob stores (sync-engine and ingestion)
BLOB_DELETIONS_FAILED = Counter(
    "mailroom_blob_deletions_failed_total",
    "Blobs that the store did not delete: of an upload that was cut off (`upload`; tried again a day later), or of an "
    "attachment whose content is kept elsewhere (`duplicate`: or did not give to be compared; tried again an hour "
    "later and then daily).",
    ["kind"],
)

# Parser process (parser/pool.py)
PARSER_FILES = Counter(
    "mailroom_parser_files_total",
    "Files that a parser process was given: `read`, `refused` by a reader, `limit` reached, `crashed`.",
    ["outcome"],
)
PARSER_CONFINEMENT = Gauge(
    "mailroom_parser_confinement_layer",
    "1 while this layer confines the parser processes, else 0: the seccomp filter, hard limits and the others.",
    ["layer"],
)

# ingestion
INGESTION_BLOBS_UNDELETED = Gauge(
    "mailroom_ingestion_blobs_undeleted",
    "Blobs that the store was to delete and has not yet, by kind: `upload` (one that was cut off), `duplicate` (an "
    "attachment whose content is kept elsewhere; those recorded at this moment too). It grows under a retention lock. "
    "Each worker counts all of them once an hour, up to 100,000.",
    ["kind"],
)
INGESTION_ATTACHMENTS_RECORDED = Counter(
    "mailroom_ingestion_attachments_recorded_total",
    "Records of attachments: a new `document`, a `duplicate` whose content was known in its doc source; of a replay: "
    "`replayed`, or `blob_gone` where nothing is left to record.",
    ["kind"],
)
INGESTION_DOCUMENTS_FINISHED = Counter(
    "mailroom_ingestion_documents_finished_total",
    "Documents that reached a final status, by status and skip or review reason.",
    ["status", "reason"],
)
INGESTION_DOCUMENTS_REREAD = Counter(
    "mailroom_ingestion_documents_reread_total",
    "Documents that were read again, by how that ended: `changed`, `unchanged`, or `failed`, where the former stands.",
    ["ending"],
)
INGESTION_DOCUMENT_ATTEMPTS_FAILED = Counter(
    "mailroom_ingestion_document_retries_total",
    "Attempts at a document that failed and left it to a later attempt.",
)
INGESTION_ARCHIVE_COPIES = Counter(
    "mailroom_ingestion_archive_copies_total",
    "Copies for the archive by outcome: `written`, `retried` while the store did not answer, or `refused` for good.",
    ["outcome"],
)
INGESTION_BACKLOG_AGE_S = Gauge(
    "mailroom_ingestion_backlog_age_seconds",
    "How long the document that waits longest could have been read by now, by lane: `live` or `backfill`.",
    ["lane"],
)
INGESTION_ATTEMPT_S = Histogram(
    "mailroom_ingestion_attempt_seconds",
    "From the claim of a document to its final status, or to its release for a later attempt.",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 30, 60, 120),
)

LLM_CALLS = Counter(
    "mailroom_ingestion_llm_documents_total",
    "Documents about which a language model was to be asked, by outcome: `answered`, or why there was no usable "
    "answer.",
    ["api", "outcome"],
)
LLM_CALL_S = Histogram(
    "mailroom_ingestion_llm_call_seconds",
    "From asking a language model about a document to its answer, retries included.",
    ["api"],
    buckets=(0.5, 1, 2, 5, 10, 20, 40, 80, 160),
)
LLM_TOKENS = Counter(
    "mailroom_ingestion_llm_tokens_total",
    "Tokens as the provider counts them: `read`, `cached` (read from its cache) or `written`.",
    ["api", "kind"],
)
LLM_COST = Counter(
    "mailroom_ingestion_llm_cost_total",
    "What answers cost, in the currency of `MAILROOM_LLM_INPUT_PRICE` and `MAILROOM_LLM_OUTPUT_PRICE`.",
    ["api"],
)

# subscription-manager
SUBSCRIPTION_STEPS = Counter(
    "mailroom_subscription_manager_steps_total",
    "Steps of a doc source's subscription (`create`, `renew`, `end`) by outcome: `done`, `retry_later` or "
    "`action_required`.",
    ["provider", "step", "outcome"],
)
SUBSCRIPTION_EARLIEST_EXPIRY = Gauge(
    "mailroom_subscription_manager_earliest_expiry_timestamp_seconds",
    "When the first subscription of an active doc source ends or has ended, as Unix time.",
    ["provider"],
)
MISSED_EVENTS = Counter(
    "mailroom_subscription_manager_missed_events_total",
    "Lifecycle events `missed`: the provider says that it lost notifications. Each asks for a sync, and its warning "
    "`notifications_missed` names the time that they may cover.",
    ["provider"],
)
DOC_SOURCES_REPUBLISHED = Counter(
    "mailroom_subscription_manager_doc_sources_republished_total",
    "Doc sources whose last record in `doc-sources` was older than the table's version, and was written again: a "
    "process was frozen or a broker lost records. Harmless, rare.",
)
PENDING_EXPIRED = Counter(
    "mailroom_subscription_manager_pending_expired_total",
    "Pending doc sources that were deleted since nobody consented to them in `MAILROOM_PENDING_DAYS`.",
)
BACKSTOP_SYNCS = Counter(
    "mailroom_subscription_manager_backstop_syncs_total", "Backstop syncs of active doc sources that were requested."
)
CONSENTS = Counter(
    "mailroom_subscription_manager_consents_total",
    "Browsers that came back from a provider's consent page, by outcome: `connected` or `refused`.",
    ["provider", "outcome"],
)

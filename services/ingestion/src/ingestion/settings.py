"""The settings of each process, read from the environment."""

from pydantic import Field

from mailroom_common.settings import APISettings, BlobSettings, DatabaseSettings, KafkaSettings, ProcessSettings

_MiB = 1024 * 1024


class WorkerSettings(ProcessSettings, KafkaSettings, DatabaseSettings, BlobSettings):
    http_port: int = 8085
    parser_processes: int = Field(default=2, ge=1, le=64)  # as many documents are read at once
    # Address space that a parser process may use for one file.
    parser_memory_bytes: int = Field(default=1024 * _MiB, ge=128 * _MiB)
    # CPU time that one file may cost.
    parser_cpu_s: int = Field(default=30, ge=1)
    # Time that one file may take, waiting included.
    parser_wall_s: float = Field(default=60, gt=0)
    parser_unconfined: bool = False  # lets a worker start whose parser processes lack a required layer
    document_lease_s: float = Field(default=30, ge=1)  # a worker that died is taken over after at most so long
    # Attempts before a document ends as `failed`; a dependency that is away costs none.
    document_attempts: int = Field(default=5, ge=1)
    document_pause_s: float = Field(default=5, gt=0)  # after the first failure; it doubles
    # Longest pause between two attempts.
    document_longest_pause_s: float = Field(default=300, gt=0)
    # How long events are kept for streams that resume.
    document_event_days: float = Field(default=30, gt=0)


class DocumentsAPISettings(ProcessSettings, DatabaseSettings, BlobSettings, APISettings):
    http_port: int = 8082
    # How long a browser's ticket for the event stream is valid.
    event_ticket_s: float = Field(default=60, gt=0)
    # Pause between two heartbeats of an idle event stream.
    event_heartbeat_s: float = Field(default=15, gt=0)

"""What one file may cost, and how the kernel is told: hard limits for the life of the process, soft ones per file."""

import resource
import time
from dataclasses import dataclass
from pathlib import Path

_MiB = 1024 * 1024

# A document is transcribed, classified and its fields are extracted by one process.
MAX_READERS_PER_DOCUMENT = 3
_FORK_SERVER_OPEN_FILES = 256  # one for each process that it supervises, and a few of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserLimits:
    """`file_bytes` is how much a reader may write to disk: nothing, unless it is told otherwise."""

    memory_bytes: int = 1024 * _MiB
    cpu_s: int = 30
    wall_s: float = 60
    output_bytes: int = 8 * _MiB
    file_bytes: int = 0
    open_files: int = 64


def set_hard_limits(limits: ParserLimits) -> bool:
    """Limit this process for the rest of its life: what a file has made of it cannot raise them again.

    Returns:
        whether the kernel took them all.
    """
    return _set_limits(
        {
            **_limits_of_any_process(limits),
            # The kernel counts processor time over the life of a process, so the hard limit is that of all its readers.
            resource.RLIMIT_CPU: (limits.cpu_s + 2) * MAX_READERS_PER_DOCUMENT,
            resource.RLIMIT_NOFILE: limits.open_files,
        }
    )


def set_fork_server_limits(limits: ParserLimits) -> bool:
    """Those that the processes which it forks inherit; it reads no file, and lives as long as the service."""
    return _set_limits({**_limits_of_any_process(limits), resource.RLIMIT_NOFILE: _FORK_SERVER_OPEN_FILES})


def _limits_of_any_process(limits: ParserLimits) -> dict[int, int]:
    return {
        resource.RLIMIT_AS: limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        # A core dump would leave the file, or what was read of it, on disk.
        resource.RLIMIT_CORE: 0,
    }


def _set_limits(hard_limits: dict[int, int]) -> bool:
    try:
        for kind, limit in hard_limits.items():
            _, inherited = resource.getrlimit(kind)
            limit = limit if inherited == resource.RLIM_INFINITY else min(limit, inherited)
            resource.setrlimit(kind, (limit, limit))
    except (OSError, ValueError):
        return False
    return True


def exceeds_memory_limit(limits: ParserLimits) -> bool:
    """Whether this process has taken more than `limits` before it has read anything: each file would break it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # no Linux
        return False
    return pages * resource.getpagesize() > limits.memory_bytes


def set_soft_limits(limits: ParserLimits) -> None:
    """Limit this process for the file that it reads next: never above its hard limits.

    Only soft limits move, so that the next file can have others. Processor time is what was used so far and `cpu_s`.
    """
    for kind, limit in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, int(time.process_time()) + 1 + limits.cpu_s),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
    ):
        _, hard = resource.getrlimit(kind)
        soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (soft, hard))

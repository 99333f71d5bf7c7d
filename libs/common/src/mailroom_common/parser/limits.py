import resource
import time
from dataclasses import dataclass

_MiB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one file may cost. `file_bytes` is how much it may write to disk: readers have no business there."""

    memory_bytes: int = 1024 * _MiB
    cpu_s: int = 30
    wall_s: float = 60
    output_bytes: int = 8 * _MiB
    file_bytes: int = 0
    open_files: int = 64


def apply(limits: Limits) -> None:
    """Put the kernel's limits on this process, for the job that begins now.

    The kernel counts processor time over the life of a process, so the limit is what was used so far and `cpu_s` more.
    Only soft limits move, so that the next job can have others.
    """
    for kind, limit in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, int(time.process_time()) + 1 + limits.cpu_s),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (soft, hard))

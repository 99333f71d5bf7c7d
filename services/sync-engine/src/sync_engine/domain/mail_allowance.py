"""How many bytes of one mail are stored at most: what containers hold unpacks to many times their size."""

from dataclasses import dataclass

_MiB = 1024 * 1024

MAX_CONTAINER_OUTPUT_BYTES = 200 * _MiB  # of what one attachment holds
MAX_RATIO = 200  # of what was packed to its packed form, but for FREE_BYTES: few documents shrink to a tenth
FREE_BYTES = _MiB  # that small texts of many equal characters may have beyond that ratio

# No provider delivers a mail of more than 150 MB.
_MAX_STORED_BYTES = 500 * _MiB


@dataclass(slots=True)
class MailAllowance:
    """What is left for one mail. The bytes that are free of the ratio are the mail's: each of a hundred small archives,
    or of those within each other, would have its own otherwise."""

    storable_bytes: int = _MAX_STORED_BYTES
    free_bytes: int = FREE_BYTES

    @property
    def is_spent(self) -> bool:
        return self.storable_bytes <= 0

    def limit_container(self, container_bytes: int) -> int:
        """How many bytes may be taken out of a container of that size."""
        return min(MAX_CONTAINER_OUTPUT_BYTES, self.storable_bytes, MAX_RATIO * container_bytes + self.free_bytes)

    def count_unpacked(self, container_bytes: int, unpacked_bytes: int) -> None:
        """Of those that were stored as well."""
        self.free_bytes -= max(0, unpacked_bytes - MAX_RATIO * container_bytes)

    def count_stored(self, stored_bytes: int) -> None:
        self.storable_bytes -= stored_bytes

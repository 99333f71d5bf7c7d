"""The repository's own mails and the documents that they must become (`expected.json` beside them)."""

from collections.abc import Iterable
from pathlib import Path

from mailroom_sandbox.main_job.accounting import Account


def differences(folder: Path, accounts: Iterable[tuple[str, Account]]) -> list[str]:
    return []

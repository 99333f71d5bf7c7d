"""The providers' memory: one SQLite file, so that a restart or a kill -9 forgets nothing.

All access is from the event loop's thread and each statement is short: a transaction is never interleaved with
another, and no lock is needed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCHEMA = Path(__file__).with_name("schema.sql")


class Store:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(folder / "providers.sqlite3", isolation_level=None)
        self._db.row_factory = sqlite3.Row
        # WAL with `normal` loses nothing when the process is killed; only a power cut could cost the last moments.
        self._db.executescript("pragma journal_mode=wal; pragma synchronous=normal; pragma busy_timeout=5000;")
        self._db.executescript(SCHEMA.read_text())

    def execute_sql(self, sql: str, *values: object) -> int:
        """Executes and returns how many rows it touched."""
        return self._db.execute(sql, values).rowcount

    def insert_row(self, sql: str, *values: object) -> int:
        """Inserts and returns the row id."""
        row_id = self._db.execute(sql, values).lastrowid
        assert row_id is not None  # noqa: S101 - sqlite3 gives one after every insert
        return row_id

    def select_row(self, sql: str, *values: object) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self._db.execute(sql, values).fetchone()
        return row

    def select_rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        return self._db.execute(sql, values).fetchall()

    def select_number(self, sql: str, *values: object) -> int:
        """The one number that the statement selects; 0 for null."""
        row = self.select_row(sql, *values)
        return int(row[0] or 0) if row else 0

    def delete_everything(self) -> None:
        """Forgets everything; numbers that were given out are not given out again."""
        with self.transaction():
            for table in self.select_rows(
                "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
            ):
                self.execute_sql(f"delete from {table['name']}")  # noqa: S608 - a table of our own

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; nested ones join the outer. Must not await inside."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def close(self) -> None:
        self._db.close()

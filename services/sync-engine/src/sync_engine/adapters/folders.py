"""Rows of `folder`: the folders or labels of a mailbox as the last full run saw them."""

from collections.abc import Collection, Sequence
from datetime import datetime

import asyncpg

from mailroom_common.postgres import acquire_session, open_transaction
from mailroom_common.providers.types import Folder
from sync_engine.domain.message_records import FailingFolder

# Folders that have not changed are not written: a full run of an idle mailbox leaves no dead rows behind.
_SAVE = """
insert into sync_engine.folder as old (doc_source_id, folder_id, path, well_known)
select $1, f.* from unnest($2::text[], $3::text[], $4::text[]) as f order by 2
on conflict (doc_source_id, folder_id) do update set path = excluded.path, well_known = excluded.well_known
where (old.path, old.well_known) is distinct from (excluded.path, excluded.well_known)
"""
_LIST_FAILING = """
select folder_id, listed_until, is_listed from sync_engine.folder
where doc_source_id = $1 and changes_failed_since is not null
"""
_RECORD_FAILING = """
update sync_engine.folder set changes_failed_since = $3
where doc_source_id = $1 and folder_id = $2 and changes_failed_since is null
"""
_RECORD_RECOVERED = """
update sync_engine.folder set changes_failed_since = null, listed_until = null, is_listed = false
where doc_source_id = $1 and folder_id = $2
"""
# Only upwards: a worker that has lost the partition may be behind.
_RECORD_LISTED = """
update sync_engine.folder
set listed_until = greatest(listed_until, $3::timestamptz), is_listed = is_listed or $3::timestamptz is null
where doc_source_id = $1 and folder_id = any($2) and changes_failed_since is not null
"""


class PgFolders:
    """`Folders` of ports.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def list_saved_folders(self, doc_source_id: str) -> Sequence[Folder]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                "select folder_id, path, well_known from sync_engine.folder where doc_source_id = $1", doc_source_id
            )
        return [Folder(row["folder_id"], row["path"], row["well_known"]) for row in rows]

    async def save_folders(self, doc_source_id: str, folders: Sequence[Folder]) -> None:
        ids = [folder.folder_id for folder in folders]
        async with open_transaction(self._pool) as conn:
            await conn.execute(
                "delete from sync_engine.folder where doc_source_id = $1 and folder_id <> all($2)", doc_source_id, ids
            )
            await conn.execute(
                _SAVE,
                doc_source_id,
                ids,
                [folder.path for folder in folders],
                [folder.well_known for folder in folders],
            )

    async def list_failing_folders(self, doc_source_id: str) -> Sequence[FailingFolder]:
        async with acquire_session(self._pool) as conn:
            return [FailingFolder(**dict(row)) for row in await conn.fetch(_LIST_FAILING, doc_source_id)]

    async def record_failing_folder(self, doc_source_id: str, folder_id: str, now: datetime) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_RECORD_FAILING, doc_source_id, folder_id, now)

    async def record_recovered_folder(self, doc_source_id: str, folder_id: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_RECORD_RECOVERED, doc_source_id, folder_id)

    async def record_listed_folders(
        self, doc_source_id: str, folder_ids: Collection[str], until: datetime | None
    ) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_RECORD_LISTED, doc_source_id, list(folder_ids), until)

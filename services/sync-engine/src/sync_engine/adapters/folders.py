"""Rows of `folder`: the folders or labels of a mailbox as the last full run saw them."""

from collections.abc import Sequence

import asyncpg

from mailroom_common.postgres import acquire_session, open_transaction
from mailroom_common.providers.types import Folder

# Folders that have not changed are not written: a full run of an idle mailbox leaves no dead rows behind.
_SAVE = """
insert into sync_engine.folder as old (doc_source_id, folder_id, path, well_known)
select $1, f.* from unnest($2::text[], $3::text[], $4::text[]) as f order by 2
on conflict (doc_source_id, folder_id) do update set path = excluded.path, well_known = excluded.well_known
where (old.path, old.well_known) is distinct from (excluded.path, excluded.well_known)
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

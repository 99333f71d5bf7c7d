"""Rows of `cursor`, which change by compare-and-swap on their version."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import asyncpg

from mailroom_common.events import DocSource
from mailroom_common.postgres import DatabaseSession, acquire_session
from mailroom_common.providers.ports import RELIST_SCOPE, ChangeListing
from sync_engine.domain.cursor import Cursor
from sync_engine.domain.message_records import PageUpdate
from sync_engine.domain.run_outcomes import CursorConflict

_SELECT = """
select scope, position, page_token, relist_started_at, relist_since, version, updated_at from sync_engine.cursor
"""
# `on conflict do nothing`: of two first pages of one scope the second finds no row of its own, and is refused.
_INSERT = """
insert into sync_engine.cursor (doc_source_id, scope, position, page_token, relist_started_at, updated_at)
values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning version
"""
_UPDATE = """
update sync_engine.cursor
set position = $3, page_token = $4, relist_started_at = $5, updated_at = $6, version = version + 1
where doc_source_id = $1 and scope = $2 and version = $7 returning version
"""
# A re-list that is under way starts again from nothing: the history was refused, so mail may be missing from both. And
# it lists no less than it was to list before.
_START_RELIST = """
insert into sync_engine.cursor as old (doc_source_id, scope, relist_started_at, relist_since, updated_at)
values ($1, $2, $3, $4, $3)
on conflict (doc_source_id, scope) do update
set position = null, page_token = null, relist_started_at = $3, updated_at = $3, version = old.version + 1,
    relist_since = case
        when old.position is not null or $4::timestamptz is null then $4
        when old.relist_since is null then null
        else least(old.relist_since, $4)
    end
"""
_RESTART_ALL = """
update sync_engine.cursor
set position = null, page_token = null, relist_started_at = null, updated_at = $2, version = version + 1
where doc_source_id = $1
"""
# A folder that fails is read by list again, too.
_UNLIST_FOLDERS = "update sync_engine.folder set listed_until = null, is_listed = false where doc_source_id = $1"


class PgCursors:
    """`Cursors` of ports.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def read_cursor(self, doc_source_id: str, scope: str) -> Cursor:
        async with acquire_session(self._pool) as conn:
            row = await conn.fetchrow(f"{_SELECT} where doc_source_id = $1 and scope = $2", doc_source_id, scope)
        return Cursor(scope=scope) if row is None else Cursor(**dict(row))

    async def list_cursors(self, doc_source_id: str) -> Mapping[str, Cursor]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(f"{_SELECT} where doc_source_id = $1", doc_source_id)
        return {row["scope"]: Cursor(**dict(row)) for row in rows}

    async def delete_cursor(self, doc_source_id: str, scope: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                "delete from sync_engine.cursor where doc_source_id = $1 and scope = $2", doc_source_id, scope
            )

    async def begin_relist(self, doc_source_id: str, now: datetime) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_START_RELIST, doc_source_id, RELIST_SCOPE, now, None)

    async def list_scopes_without_folder(self, doc_source_id: str) -> Sequence[str]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                "select scope from sync_engine.cursor c where doc_source_id = $1 and not exists ("
                "select from sync_engine.folder f where f.doc_source_id = $1 and f.folder_id = c.scope) order by scope",
                doc_source_id,
            )
        return [row["scope"] for row in rows]


async def move_cursor(conn: DatabaseSession, source: DocSource, update: PageUpdate, now: datetime) -> None:
    """Within the page transaction. Raises CursorConflict, which rolls all of it back."""
    if update.read_cursor is not None and update.next_cursor is not None:
        await _compare_and_swap(conn, source, update.read_cursor, update.next_cursor, now)
    if update.starts_relist:
        await conn.execute(_START_RELIST, source.doc_source_id, RELIST_SCOPE, now, None)


async def restart_cursors(
    conn: DatabaseSession, doc_source_id: str, listing: ChangeListing, since: datetime | None, now: datetime
) -> None:
    """List again what the mailbox holds. A page that is being committed meanwhile finds another version."""
    if listing is ChangeListing.MAILBOX_HISTORY:
        await conn.execute(_START_RELIST, doc_source_id, RELIST_SCOPE, now, since)
    else:
        # By folder there is no list from a date whose position goes on afterwards: each folder from nothing.
        await conn.execute(_RESTART_ALL, doc_source_id, now)
        await conn.execute(_UNLIST_FOLDERS, doc_source_id)


async def _compare_and_swap(
    conn: DatabaseSession, source: DocSource, read: Cursor, target: Cursor, now: datetime
) -> None:
    row = (source.doc_source_id, target.scope, target.position, target.page_token, target.relist_started_at, now)
    # A worker whose partition moved away in the meantime finds another version here, and its page is not written.
    if read.version == 0:
        version = await conn.fetchval(_INSERT, *row)
    else:
        version = await conn.fetchval(_UPDATE, *row, read.version)
    if version is None:
        raise CursorConflict(f"{target.scope} is not at version {read.version} any more")

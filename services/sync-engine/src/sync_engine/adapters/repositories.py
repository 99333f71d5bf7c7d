"""All repositories of the sync-engine's tables on one pool."""

from collections.abc import Callable
from datetime import datetime

import asyncpg

from mailroom_common.outbox import Outbox
from sync_engine.adapters.cursors import PgCursors
from sync_engine.adapters.folders import PgFolders
from sync_engine.adapters.ingestion_states import PgIngestionStates
from sync_engine.adapters.messages import PgMessages
from sync_engine.adapters.pages import PgPages
from sync_engine.adapters.parked_items import PgParkedItems
from sync_engine.adapters.source_deletions import PgSourceDeletions
from sync_engine.adapters.sync_runs import PgSyncRuns
from sync_engine.adapters.sync_states import PgSyncStates
from sync_engine.adapters.uploads import PgUploads
from sync_engine.ports import Repositories


def open_repositories(
    pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime], ingestion_states: PgIngestionStates
) -> Repositories:
    return Repositories(
        states=PgSyncStates(pool, clock),
        deletions=PgSourceDeletions(pool, outbox, clock, ingestion_states),
        cursors=PgCursors(pool),
        folders=PgFolders(pool),
        messages=PgMessages(pool, ingestion_states),
        parked_items=PgParkedItems(pool),
        uploads=PgUploads(pool),
        runs=PgSyncRuns(pool),
        pages=PgPages(pool, outbox, ingestion_states),
        ingestion_states=ingestion_states,
    )

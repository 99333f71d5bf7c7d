import pytest
from connection_fakes import ID, NOW, FakeConnectionStore, make_connection

from mailroom_common.events import DocSource
from subscription_manager.domain.connection import ConnectionState
from subscription_manager.handlers.republish_doc_sources import RepublishDocSources

SUBSCRIBED = make_connection()


class Topic:
    def __init__(self, **versions: int) -> None:
        self._versions = versions

    def get_source(self, doc_source_id: str) -> DocSource | None:
        version = self._versions.get(doc_source_id.replace("-", ""))
        if version is None:
            return None
        return DocSource(
            event_id="e",
            occurred_at=NOW,
            tenant_id="acme",
            doc_source_id=doc_source_id,
            version=version,
            provider="outlook",
            profile=SUBSCRIBED.profile,
            access=SUBSCRIBED.access,
            state="active",  # type: ignore[arg-type]  # only the version is read
        )


@pytest.mark.parametrize(
    ("state", "shown", "is_repeated"),
    [
        (ConnectionState.ACTIVE, 6, True),  # an older version was written late
        (ConnectionState.ACTIVE, 7, False),
        (ConnectionState.ACTIVE, None, True),  # the topic lost it
        (ConnectionState.DELETED, 6, True),  # a deleted one came back
        (ConnectionState.DELETED, None, False),
    ],
)
async def test_doc_source_that_is_outdated_in_the_topic_is_published_again(
    state: ConnectionState, shown: int | None, is_repeated: bool
) -> None:
    connections = FakeConnectionStore(make_connection(state=state, published_version=7))
    topic = Topic() if shown is None else Topic(**{ID.replace("-", ""): shown})
    assert await RepublishDocSources(connections, topic).republish_outdated() == int(is_repeated)
    assert connections.republished == ([ID] if is_repeated else [])

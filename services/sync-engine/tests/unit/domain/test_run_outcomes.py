"""What keeps a run from writing says why."""

from sync_engine.domain.run_outcomes import SourceNotActive


def test_a_source_that_is_not_active_says_its_state() -> None:
    error = SourceNotActive("paused")
    assert (error.state, str(error)) == ("paused", "the source is paused")

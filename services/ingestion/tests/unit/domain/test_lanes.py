from ingestion.domain.lanes import Lane, LaneSchedule


def test_the_first_of_several_loops_reads_live_documents_only() -> None:
    schedule = LaneSchedule(0, 2)
    assert {schedule.choose_lanes() for _ in range(20)} == {(Lane.LIVE,)}
    assert schedule.lanes == {Lane.LIVE}


def test_the_others_prefer_live_documents_but_for_each_fifth_claim() -> None:
    schedule = LaneSchedule(1, 2)
    first = [schedule.choose_lanes()[0] for _ in range(10)]
    assert first == [*[Lane.LIVE] * 4, Lane.BACKFILL] * 2
    assert schedule.lanes == set(Lane)


def test_an_only_loop_reads_both() -> None:
    assert set(LaneSchedule(0, 1).choose_lanes()) == set(Lane)

from aiokafka import TopicPartition

from mailroom_cli.consumer_lag import Lag, compute_lags, select_groups


def test_lag_is_what_lies_between_the_committed_offset_and_the_end() -> None:
    committed = {TopicPartition("s.attachments", 0): 5, TopicPartition("s.attachments", 1): 7}
    ends = {TopicPartition("s.attachments", 0): 5, TopicPartition("s.attachments", 1): 10}
    assert compute_lags("s.mailroom.x", committed, ends, "s.") == [Lag("mailroom.x", "attachments", 3, (1,))]


def test_only_groups_of_this_site_count_and_no_replays() -> None:
    names = ["s.mailroom.a", "mailroom.b", "s.mailroom.replay.r1", "t.mailroom.c", "s.other"]
    assert select_groups(names, "s.") == ["s.mailroom.a"]


def test_topics_that_are_none_of_ours_are_left_out() -> None:
    changelog = {TopicPartition("mailroom.sync-engine.coalescer-pending-changelog", 0): 1}
    assert compute_lags("mailroom.x", changelog, {}, "") == []

"""What a site's topics are created with (design, section 4)."""

from mailroom_common.topics import FAUST_CHANGELOG, SYNC_REQUESTS, TOPICS, list_deployed_topics

DAY_MS = 24 * 3600 * 1000


def test_schemas_and_dead_letters_have_one_partition_and_all_else_48() -> None:
    deployed = {topic.name: topic.partitions for topic in list_deployed_topics("", 3)}
    single = {name for name, partitions in deployed.items() if partitions == 1}
    assert single == {"schemas", *(topic.dead_letter_topic for topic in TOPICS if topic.has_dead_letters)}
    assert {deployed[name] for name in deployed.keys() - single} == {48}
    assert sum(deployed.values()) == 539


def test_every_topic_has_the_prefix_the_replication_and_one_replica_to_spare() -> None:
    for topic in list_deployed_topics("staging.", 3):
        assert topic.name.startswith("staging.")
        assert topic.replication == 3
        assert topic.config["min.insync.replicas"] == "2"


def test_a_site_with_one_broker_needs_one_replica_in_sync() -> None:
    assert {topic.config["min.insync.replicas"] for topic in list_deployed_topics("", 1)} == {"1"}


def test_backfill_topics_are_kept_as_long_as_their_namesakes() -> None:
    kept = {topic.name: topic.config.get("retention.ms") for topic in TOPICS}
    assert kept["attachments-backfill"] == kept["attachments"] == str(14 * DAY_MS)
    assert kept["sync-requests-backfill"] == str(14 * DAY_MS)


def test_dead_letters_are_kept_for_30_days() -> None:
    letters = [topic for topic in list_deployed_topics("", 1) if topic.name.endswith(".dlq")]
    assert {topic.config["retention.ms"] for topic in letters} == {str(30 * DAY_MS)}


def test_the_changelog_is_rolled_like_the_other_compacted_topics_and_compacted_without_delay() -> None:
    config = next(topic.config for topic in list_deployed_topics("", 1) if topic.name == FAUST_CHANGELOG)
    assert config["cleanup.policy"] == "compact"
    for name in ("segment.ms", "segment.bytes", "min.cleanable.dirty.ratio", "max.compaction.lag.ms"):
        assert config[name] == SYNC_REQUESTS.config[name]
    assert "min.compaction.lag.ms" not in config, "a recovery would read hours of records that are shadowed"

"""The list of who may do what agrees with the list of topics, and is no wider than it has to be."""

from mailroom_common.topic_access import (
    COMPONENTS,
    AccessRule,
    Operation,
    Resource,
    list_access_rules,
    list_operator_rules,
)
from mailroom_common.topics import ATTACHMENTS, DOC_SOURCES, REPLAY_GROUP_PREFIX, TOPICS, list_deployed_topics


def test_every_name_is_a_topic_of_a_site() -> None:
    existing = {topic.name for topic in list_deployed_topics("", 1)}
    named = {name for component in COMPONENTS for name in (*component.reads, *component.writes)}
    assert named <= existing


def test_a_group_belongs_to_one_process() -> None:
    groups = [group for component in COMPONENTS for group in component.groups]
    assert len(set(groups)) == len(groups)


def test_no_rule_is_named_twice() -> None:
    rules = list_access_rules("")
    assert len(set(rules)) == len(rules)


def test_names_have_the_prefix_of_the_site_and_principals_can_be_chosen() -> None:
    rules = list_access_rules("staging.", {"ingestion-worker": "User:CN=ingestion"})
    assert all(rule.name.startswith("staging.") for rule in rules)
    assert AccessRule("User:CN=ingestion", Resource.TOPIC, f"staging.{ATTACHMENTS.name}", Operation.READ) in rules
    assert not [rule for rule in rules if rule.principal == "User:mailroom-ingestion-worker"]
    assert [rule for rule in rules if rule.principal == "User:mailroom-webhook-gateway"]


def test_whoever_consumes_a_topic_may_dead_letter_its_records() -> None:
    existing = {topic.name for topic in list_deployed_topics("", 1)}
    for component in COMPONENTS:
        if not component.groups:
            assert not [name for name in component.writes if name.endswith(".dlq")]
        dead_lettered = {name.removesuffix(".dlq") for name in component.writes if name.endswith(".dlq")}
        assert dead_lettered <= set(component.reads) & existing


def test_an_operator_reads_every_topic_and_writes_what_a_command_sends_again() -> None:
    rules = list_operator_rules("staging.", "User:anna")
    assert {rule.principal for rule in rules} == {"User:anna"}
    assert all(rule.name.startswith("staging.") for rule in rules)
    allowed = {(rule.resource, rule.operation, rule.name.removeprefix("staging.")) for rule in rules}
    reads = {name for resource, operation, name in allowed if (resource, operation) == ("topic", Operation.READ)}
    assert {topic.name for topic in TOPICS} <= reads <= {topic.name for topic in list_deployed_topics("", 1)}
    writes = {name for resource, operation, name in allowed if (resource, operation) == ("topic", Operation.WRITE)}
    assert {"attachments.dlq", "attachments", "attachments-backfill", "sync-requests-backfill", "schemas"} <= writes
    # The directory is subscription-manager's own.
    assert DOC_SOURCES.name not in writes


def test_an_operator_reads_every_topic_that_a_list_of_dead_letters_looks_into() -> None:
    reads = {rule.name for rule in list_operator_rules("", "User:anna") if rule.operation is Operation.READ}
    assert {topic.dead_letter_topic for topic in TOPICS if topic.has_dead_letters} <= reads


def test_an_operator_joins_no_group_of_a_process() -> None:
    groups = [rule for rule in list_operator_rules("", "User:anna") if rule.resource is Resource.GROUP]
    assert {(rule.name, rule.operation) for rule in groups if rule.is_prefix} == {
        ("mailroom.", Operation.DESCRIBE),
        (REPLAY_GROUP_PREFIX, Operation.READ),
    }
    processes = [group for component in COMPONENTS for group in component.groups]
    assert not [group for group in processes if group.startswith(REPLAY_GROUP_PREFIX)]

"""The list of who may do what agrees with the list of topics, and is no wider than it has to be."""

from mailroom_common.topic_access import COMPONENTS, AccessRule, Operation, Resource, list_access_rules
from mailroom_common.topics import ATTACHMENTS, list_deployed_topics


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

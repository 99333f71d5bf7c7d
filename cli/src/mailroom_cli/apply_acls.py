"""Creates a site's ACLs at Kafka. Idempotent: what exists is compared, and only what is missing is created."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import SecurityDisabled, for_code
from aiokafka.protocol.admin import CreateAclsRequest_v1, DescribeAclsRequest
from aiokafka.protocol.api import Request

from mailroom_cli.kafka_access import open_applying_admin
from mailroom_common.errors import Fatal, Unavailable
from mailroom_common.kafka.client import KafkaCluster
from mailroom_common.topic_access import AccessRule, Operation, Resource

# Kafka's numbers: ResourceType, AclOperation, PatternType, AclPermissionType.
_RESOURCES = {Resource.TOPIC: 2, Resource.GROUP: 3}
_OPERATIONS = {Operation.READ: 3, Operation.WRITE: 4, Operation.DESCRIBE: 8}
_ANY, _LITERAL, _PREFIXED, _ALLOW = 1, 3, 4, 3
_EVERY_HOST = "*"
# A broker learns of them after whatever came before, the partitions of another site for instance.
_VISIBLE_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True)
class AppliedRules:
    """`surplus` are described ACLs of the site's own principals that it does not need: they are left to an operator."""

    created: list[AccessRule]
    unchanged: list[AccessRule]
    surplus: list[str]


async def apply_access_rules(
    cluster: KafkaCluster, wanted: Sequence[AccessRule], *, is_dry_run: bool = False
) -> AppliedRules:
    """Returns once the brokers know the rules, so that what is started next may do what it needs.

    Raises:
        Unavailable: Kafka does not answer.
        Fatal: Kafka has no authorizer, or refuses a rule.
    """
    async with open_applying_admin(cluster) as admin:
        return await _apply_rules(admin, wanted, is_dry_run=is_dry_run)


async def _apply_rules(admin: AIOKafkaAdminClient, wanted: Sequence[AccessRule], *, is_dry_run: bool) -> AppliedRules:
    existing, foreign = await _read_rules(admin, {rule.principal for rule in wanted})
    missing = [rule for rule in wanted if rule not in existing]
    if missing and not is_dry_run:
        await _create_rules(admin, missing)
        await _wait_until_visible(admin, wanted)
    surplus = [describe_rule(rule) for rule in sorted(existing.difference(wanted))]
    return AppliedRules(missing, [rule for rule in wanted if rule in existing], surplus + foreign)


def describe_rule(rule: AccessRule) -> str:
    return f"{rule.principal} may {rule.operation} {rule.resource} {rule.name}{'*' if rule.is_prefix else ''}"


async def _read_rules(admin: AIOKafkaAdminClient, principals: set[str]) -> tuple[set[AccessRule], list[str]]:
    """What these principals may do, and in words what they have of another kind than ours."""
    answer = await admin._send_request(DescribeAclsRequest(_ANY, None, _ANY, None, None, _ANY, _ANY))
    if for_code(answer.error_code) is SecurityDisabled:
        raise Fatal("Kafka has no authorizer, so that nobody is refused anything: set authorizer.class.name there")
    if answer.error_code != 0:
        raise Fatal(f"Kafka does not show its ACLs: {for_code(answer.error_code).__name__} {answer.error_message}")
    known, foreign = set(), []
    for resource, name, pattern, entries in answer.resources:
        for principal, host, operation, permission in entries:
            if principal not in principals:
                continue
            rule = _to_rule(principal, resource, name, operation, pattern)
            if rule and (host, permission) == (_EVERY_HOST, _ALLOW):
                known.add(rule)
            else:
                foreign.append(f"{principal} has an ACL of another kind on {name!r}")
    return known, foreign


def _to_rule(principal: str, resource: int, name: str, operation: int, pattern: int) -> AccessRule | None:
    resources = {number: kind for kind, number in _RESOURCES.items()}
    operations = {number: kind for kind, number in _OPERATIONS.items()}
    if resource not in resources or operation not in operations or pattern not in (_LITERAL, _PREFIXED):
        return None
    return AccessRule(principal, resources[resource], name, operations[operation], pattern == _PREFIXED)


class _CreateAcls(Request[CreateAclsRequest_v1]):  # type: ignore[misc]  # aiokafka has no types
    """Many at once: aiokafka's own request carries one."""

    API_KEY = CreateAclsRequest_v1.API_KEY

    def __init__(self, rules: Sequence[AccessRule]) -> None:
        self._rules = rules

    def build(self, request_struct_class: type[CreateAclsRequest_v1]) -> CreateAclsRequest_v1:
        return request_struct_class(
            [
                (
                    _RESOURCES[rule.resource],
                    rule.name,
                    _PREFIXED if rule.is_prefix else _LITERAL,
                    rule.principal,
                    _EVERY_HOST,
                    _OPERATIONS[rule.operation],
                    _ALLOW,
                )
                for rule in self._rules
            ]
        )


async def _create_rules(admin: AIOKafkaAdminClient, missing: Sequence[AccessRule]) -> None:
    answer: Any = await admin._send_request(_CreateAcls(missing))  # Any: aiokafka's answers have no types
    for rule, (code, message) in zip(missing, answer.creation_responses, strict=True):
        if code != 0:
            raise Fatal(f"Kafka refuses that {describe_rule(rule)}: {for_code(code).__name__} {message or ''}")


async def _wait_until_visible(admin: AIOKafkaAdminClient, wanted: Sequence[AccessRule]) -> None:
    deadline = asyncio.get_running_loop().time() + _VISIBLE_WITHIN_S
    principals = {rule.principal for rule in wanted}
    while not set(wanted) <= (await _read_rules(admin, principals))[0]:
        if asyncio.get_running_loop().time() > deadline:
            raise Unavailable(f"the new ACLs are not in force after {_VISIBLE_WITHIN_S:.0f} s")
        await asyncio.sleep(0.1)  # Kafka has no call that waits for this

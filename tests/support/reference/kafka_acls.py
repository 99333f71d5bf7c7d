"""docs/kafka-acls.md: what each process may do at Kafka, from the list in `mailroom_common.topic_access`."""

from collections.abc import Sequence

from mailroom_common.topic_access import COMPONENTS, AccessRule, Component, list_operator_rules
from mailroom_common.topics import TOPICS, list_deployed_topics
from reference.sources import format_table

_HEAD = """# Who may do what at Kafka

Generated from `mailroom_common/topic_access.py` by `make reference`; a test holds that it is current, and the site of
`tests/e2e/test_whole_site.py` runs on exactly these rules, where what is not listed is refused.

```sh
mailroom topics apply --acls --dry-run    # what is missing
mailroom topics apply --acls              # topics and ACLs; safe to repeat
mailroom topics apply --acls --principal ingestion-worker=User:CN=ingestion,O=Example
```

creates them, for `User:mailroom-<process>` where no `--principal` says otherwise, from every host, for these very
names behind `MAILROOM_TOPIC_PREFIX`. Whoever runs it needs `Create`, `Alter`, `AlterConfigs` and `DescribeConfigs` on
topics, and `Alter` and `Describe` on the cluster; no process of Mailroom does. ACLs of these principals that are not
listed here are shown and left: who was given more on purpose keeps it, and what an older version needed is removed by
hand.

- A process that is not listed (the two APIs) does not connect to Kafka.
- `Describe` follows from `Read` and `Write`; an idempotent producer needs no `IdempotentWrite` on the cluster beside.
- No process uses transactions: there are no transactional ids to allow.
- Topics are never created by a process, the coalescer's changelog included.
"""


def read_kafka_acls() -> str:
    sections = [_format_component(component) for component in COMPONENTS]
    return "\n".join([_HEAD, *sections, _format_operator(), _format_topics()])


def _format_component(component: Component) -> str:
    rows = [
        ["reads", _join(component.reads)],
        ["writes", _join(component.writes)],
        ["joins", _join(component.groups) or "no group: it reads whole topics"],
        ["transactional ids", "none"],
    ]
    return f"## {component.name}\n\n`{component.default_principal}`\n\n{format_table(('', 'topics and groups'), rows)}"


_OPERATOR = """## Operators

`mailroom topics apply --acls --operator User:anna` gives a person what `mailroom tail`, `topics lag`, `dlq` and
`replay` need, and no right to create, alter or delete. Whoever has it reads all mail events and results of all tenants,
and can have records worked on again: it is for the operators of the site. `topics apply`, `topics rewind` and
`doctor`'s look at settings of topics are an administrator's.
"""


def _format_operator() -> str:
    rules = list_operator_rules("", "User:anna")
    rows = [
        [f"{operation.value}s {resource.value}s", _join([_name(r) for r in rules if (r.operation, r.resource) == kind])]
        for kind in dict.fromkeys((rule.operation, rule.resource) for rule in rules)
        for operation, resource in [kind]
    ]
    return f"{_OPERATOR}\n{format_table(('may', 'which'), rows)}"


def _name(rule: AccessRule) -> str:
    return rule.name + ("*" if rule.is_prefix else "")


def _format_topics() -> str:
    """The same by topic: who else is concerned by what a process writes."""
    known = {topic.name: topic for topic in TOPICS}
    names = sorted(topic.name for topic in list_deployed_topics("", 3))
    rows = [
        [
            f"`{name}`",
            _join([each.name for each in COMPONENTS if name in each.writes]) or "nobody",
            _join([each.name for each in COMPONENTS if name in each.reads])
            or ("nobody of Mailroom: it is for other systems" if name in known else "operators"),
        ]
        for name in names
    ]
    return f"## By topic\n\n{format_table(('topic', 'written by', 'read by'), rows)}"


def _join(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)

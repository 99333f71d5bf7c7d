"""The topics: the list in `mailroom_common.topics`, with what a site creates of it."""

import ast
from datetime import timedelta
from pathlib import Path

from mailroom_common import topics
from reference.sources import Section, format_table, read_sources


def read_topics(root: Path) -> Section:
    meanings = _read_meanings(root)
    partitions = {topic.name: topic.partitions for topic in topics.list_deployed_topics("", 3)}
    rows, gaps = [], []
    for topic in sorted(topics.TOPICS, key=lambda topic: topic.name):
        meaning = meanings.get(topic.name, "")
        dead_letters = f"`{topic.dead_letter_topic}`" if topic.has_dead_letters else ""
        schema = f"`{topic.event}`" if topic.event else "raw"
        rows.append(
            [
                f"`{topic.name}`",
                topic.key,
                schema,
                str(partitions[topic.name]),
                _cleanup(topic.config),
                dead_letters,
                meaning,
            ]
        )
        if not meaning:
            gaps.append(f"topic: {topic.name} has no comment beside its definition")
    head = ("topic", "key", "schema", "partitions", "cleanup", "dead letters", "meaning")
    text = "## Topics\n\nA site may put `MAILROOM_TOPIC_PREFIX` before each. The coalescer's changelog is "
    return Section(f"{text}`{topics.FAUST_CHANGELOG}`.\n\n{format_table(head, rows)}", gaps)


def _read_meanings(root: Path) -> dict[str, str]:
    """By topic name: the comment beside `NAME = Topic("name", ...)`."""
    return {
        node.value.args[0].value: source.comment_beside(node)
        for source in read_sources(root, ["libs/common/src"])
        if source.module == topics.__name__
        for node in source.tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "Topic"
        and isinstance(node.value.args[0], ast.Constant)
        and isinstance(node.value.args[0].value, str)
    }


def _cleanup(config: dict[str, str]) -> str:
    if config["cleanup.policy"] != "delete":
        return "compacted"
    return f"deleted after {timedelta(milliseconds=int(config['retention.ms'])).days} days"

"""Checks bodies against the providers' contracts: right types, no member that does not exist, none missing.

The contract files are in `tests/contract/data`; MAILROOM_SHARED names a folder whose `contracts` are read instead.
They require nothing, so what each answer must have is listed here.
"""

import json
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from openapi_schema_validator import OAS30Validator

# Any: JSON of the contracts and of answers has no narrower type.
JSON = Any

GRAPH_MEMBERS: dict[str, frozenset[str]] = {
    "message": frozenset(
        {
            "@odata.etag",
            "id",
            "createdDateTime",
            "lastModifiedDateTime",
            "changeKey",
            "categories",
            "receivedDateTime",
            "sentDateTime",
            "hasAttachments",
            "internetMessageId",
            "subject",
            "bodyPreview",
            "importance",
            "parentFolderId",
            "conversationId",
            "isRead",
            "isDraft",
            "webLink",
            "inferenceClassification",
            "body",
            "sender",
            "from",
            "toRecipients",
            "ccRecipients",
            "bccRecipients",
            "replyTo",
            "flag",
        }
    ),
    "mailFolder": frozenset(
        {
            "id",
            "displayName",
            "parentFolderId",
            "childFolderCount",
            "unreadItemCount",
            "totalItemCount",
            "isHidden",
        }
    ),
    "fileAttachment": frozenset(
        {
            "@odata.type",
            "id",
            "lastModifiedDateTime",
            "name",
            "contentType",
            "size",
            "isInline",
            "contentId",
            "contentLocation",
            "contentBytes",
        }
    ),
    "itemAttachment": frozenset(
        {"@odata.type", "id", "lastModifiedDateTime", "name", "contentType", "size", "isInline"}
    ),
    "subscription": frozenset(
        {
            "id",
            "resource",
            "applicationId",
            "changeType",
            "clientState",
            "notificationUrl",
            "lifecycleNotificationUrl",
            "expirationDateTime",
            "creatorId",
            "latestSupportedTlsVersion",
        }
    ),
}
GMAIL_MEMBERS: dict[str, frozenset[str]] = {
    "Profile": frozenset({"emailAddress", "messagesTotal", "threadsTotal", "historyId"}),
    "WatchResponse": frozenset({"historyId", "expiration"}),
    "ListHistoryResponse": frozenset({"historyId"}),
    "ListMessagesResponse": frozenset({"resultSizeEstimate"}),
    "Message": frozenset({"id", "threadId", "snippet", "historyId", "internalDate", "sizeEstimate"}),
    "MessagePart": frozenset({"partId", "mimeType", "filename", "headers", "body"}),
    "MessagePartBody": frozenset({"size"}),
}
_TYPES: dict[str, JSON] = {
    "any": {},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "number": {"type": "number"},
}


class ContractBroken(AssertionError):
    """Says where a body departs from the contract."""


def check_graph_body(schema: str, body: JSON, *, complete: bool = True) -> None:
    """`schema` is the name within `microsoft.graph`, or a whole name. `complete` also asks for the members we list."""
    document = _load_document("graph-mail.v1.0.openapi.json")
    name = schema if schema in document["components"]["schemas"] else f"microsoft.graph.{schema}"
    _check_schema(_graph_validator(name), body)
    known = _list_members(document, name)
    unknown = {member for member in body if member not in known and "@" not in member}
    if unknown:
        raise ContractBroken(f"{name} has no member {', '.join(sorted(unknown))}")
    if complete:
        require_members(body, GRAPH_MEMBERS.get(schema, ()))


def check_graph_response_body(method: str, path: str, body: JSON) -> None:
    """The body of a good answer of the route; `path` as the contract writes it."""
    document = _load_document("graph-mail.v1.0.openapi.json")
    responses = document["paths"][path][method.lower()]["responses"]
    good = next(answer for status, answer in responses.items() if status.startswith("2"))
    schema = good["content"]["application/json"]["schema"]
    _check_schema(OAS30Validator({**schema, "components": document["components"]}), body)


def check_gmail_body(schema: str, body: JSON) -> None:
    _check_schema(_gmail_validator(schema), body)
    require_members(body, GMAIL_MEMBERS.get(schema, ()))
    if schema == "Message" and "payload" in body and body["payload"].get("body"):
        _require_parts(body["payload"])


def check_pubsub_message(body: JSON) -> None:
    _check_schema(_pubsub_validator(), {name: value for name, value in body.items() if "_" not in name})
    require_members(body, {"data", "messageId", "message_id", "publishTime", "publish_time"})


def require_members(body: Mapping[str, object], members: Iterable[str]) -> None:
    missing = [member for member in members if member not in body]
    if missing:
        raise ContractBroken(f"missing: {', '.join(sorted(missing))}")


def _require_parts(part: JSON) -> None:
    require_members(part, GMAIL_MEMBERS["MessagePart"])
    require_members(part["body"], GMAIL_MEMBERS["MessagePartBody"])
    for child in part.get("parts", ()):
        _require_parts(child)


def _check_schema(validator: JSON, body: JSON) -> None:
    errors = [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(body)]
    if errors:
        raise ContractBroken("; ".join(errors))


@lru_cache
def _load_document(name: str) -> JSON:
    shared = os.environ.get("MAILROOM_SHARED")
    checkout = Path(__file__).resolve().parents[4]
    folder = Path(shared) / "contracts" if shared else checkout / "tests" / "contract" / "data"
    return json.loads((folder / name).read_text())


@lru_cache
def _graph_validator(name: str) -> JSON:
    components = _load_document("graph-mail.v1.0.openapi.json")["components"]
    return OAS30Validator({"$ref": f"#/components/schemas/{name}", "components": components})


def _list_members(document: JSON, name: str) -> set[str]:
    """Those of the type, its base types and its subtypes."""
    schema = document["components"]["schemas"][name]
    found = set(schema.get("properties", {}))
    for part in schema.get("allOf", ()):
        if "$ref" in part:
            found |= _list_members(document, part["$ref"].rpartition("/")[2])
        found |= set(part.get("properties", {}))
        for subtype in part.get("x-odata-derivedTypes", {}).values():
            found |= set(_list_own_members(document, subtype.rpartition("/")[2]))
    return found


def _list_own_members(document: JSON, name: str) -> set[str]:
    parts = document["components"]["schemas"][name].get("allOf", ())
    return {member for part in parts for member in part.get("properties", {})}


@lru_cache
def _gmail_validator(schema: str) -> JSON:
    return _discovery_validator("gmail.v1.json", schema)


@lru_cache
def _pubsub_validator() -> JSON:
    return _discovery_validator("pubsub.v1.json", "PubsubMessage")


def _discovery_validator(file: str, schema: str) -> JSON:
    """A discovery document is JSON schema of long ago: `$ref` is a bare name, big numbers are strings."""
    definitions = {name: _convert_schema(one) for name, one in _load_document(file)["schemas"].items()}
    return Draft202012Validator({"$ref": f"#/$defs/{schema}", "$defs": definitions})


def _convert_schema(schema: JSON) -> JSON:
    if "$ref" in schema:
        return {"$ref": f"#/$defs/{schema['$ref']}"}
    match schema.get("type"):
        case "object" if "properties" in schema:
            properties = {name: _convert_schema(one) for name, one in schema["properties"].items()}
            return {"type": "object", "properties": properties, "additionalProperties": False}
        case "object":
            return {"type": "object", "additionalProperties": _convert_schema(schema.get("additionalProperties", {}))}
        case "array":
            return {"type": "array", "items": _convert_schema(schema["items"]), "minItems": 1}
        case "string" if schema.get("format") in ("uint64", "int64"):
            return {"type": "string", "pattern": r"^-?[0-9]+$"}
        case "string" if schema.get("format") == "byte":
            return {"type": "string", "pattern": r"^[A-Za-z0-9+/_=-]*$"}
        case "string":
            return {"type": "string"}
        case kind:
            return _TYPES.get(str(kind), {})

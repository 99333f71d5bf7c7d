from typing import Any

from mailroom_sandbox.api_docs.merge import merge_descriptions


def describe(path: str, schema: dict[str, Any]) -> dict[str, Any]:
    answer = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/View"}}}}
    return {
        "openapi": "3.1.0",
        "paths": {path: {"get": {"responses": {"200": answer}}}},
        "components": {"schemas": {"View": schema}, "securitySchemes": {"key": {"type": "http"}}},
        "security": [{"key": []}],
    }


def test_paths_of_all_services_are_in_one_description() -> None:
    merged = merge_descriptions(
        {"one": describe("/a", {"type": "string"}), "two": describe("/b", {"type": "string"})}, title="All"
    )
    assert merged["paths"].keys() == {"/a", "/b"}
    assert merged["components"]["schemas"].keys() == {"View"}
    assert (merged["security"], merged["info"]["title"]) == ([{"key": []}], "All")


def test_schemas_of_one_name_that_differ_are_told_apart() -> None:
    merged = merge_descriptions(
        {"one": describe("/a", {"type": "string"}), "two": describe("/b", {"type": "integer"})}, title="All"
    )
    reference = merged["paths"]["/b"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
    assert reference == "#/components/schemas/two_View"
    assert merged["components"]["schemas"]["two_View"] == {"type": "integer"}
    assert merged["components"]["schemas"]["View"] == {"type": "string"}

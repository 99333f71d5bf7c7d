import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from model_answers import PAGE, change_answer
from scripted_endpoint import ScriptedEndpoint, list_statuses, open_endpoint

from ingestion.adapters.anthropic_model import AnthropicModel, open_anthropic_model
from ingestion.domain.model_answer import ModelFailure, ModelReply, ModelTokens
from ingestion.domain.model_question import INSTRUCTIONS, build_question
from mailroom_common.settings import TLSSettings

QUESTION = build_question(PAGE, mark="5f", with_fields=True, answer_tokens=500)
USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 700, "output_tokens": 50}
TOKENS = ModelTokens(1000, 700, 50)


def answer_with(*texts: object, reason: str | None = "end_turn") -> tuple[int, Any]:
    return 200, {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text} for text in texts],
        "stop_reason": reason,
        "usage": USAGE,
    }


@asynccontextmanager
async def open_model(*answers: tuple[int, Any]) -> AsyncIterator[tuple[AnthropicModel, ScriptedEndpoint]]:
    async with (
        open_endpoint(*answers) as endpoint,
        open_anthropic_model(TLSSettings(), url=endpoint.url, key="k", model="m", timeout_s=5) as model,
    ):
        yield model, endpoint


async def test_a_question_has_cached_instructions_and_a_schema_for_its_answer() -> None:
    async with open_model(answer_with(change_answer())) as (model, endpoint):
        assert await model.ask(QUESTION) == ModelReply(change_answer(), TOKENS)
    assert (endpoint.headers[0]["path"], endpoint.headers[0]["authorization"]) == ("/v1/messages", "Bearer k")
    (body,) = endpoint.bodies
    assert body["system"] == [{"type": "text", "text": INSTRUCTIONS, "cache_control": {"type": "ephemeral"}}]
    assert body["messages"][0]["content"] == [{"type": "text", "text": QUESTION.text}]
    assert body["output_config"]["format"] == {"type": "json_schema", "schema": QUESTION.schema}
    assert (body["model"], body["max_tokens"]) == ("m", 500)


async def test_a_pdf_is_attached_in_place_of_its_text() -> None:
    question = build_question(PAGE, mark="5f", with_fields=True, answer_tokens=500, pdf=b"%PDF-")
    async with open_model(answer_with("{}")) as (model, endpoint):
        await model.ask(question)
    document = endpoint.bodies[0]["messages"][0]["content"][0]
    assert document["source"] == {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (answer_with("no", reason="refusal"), ModelFailure.REFUSED),
        (answer_with("{", reason="max_tokens"), ModelFailure.CUT_OFF),
        (answer_with("{", reason="model_context_window_exceeded"), ModelFailure.CUT_OFF),
        (answer_with(), ModelFailure.BROKEN),
        (answer_with("{}", "{}"), ModelFailure.BROKEN),
        (answer_with("{}", reason="tool_use"), ModelFailure.BROKEN),
    ],
)
async def test_what_is_no_answer_is_named_and_its_tokens_count(answer: tuple[int, Any], failure: ModelFailure) -> None:
    async with open_model(answer) as (model, _):
        assert await model.ask(QUESTION) == ModelReply(None, TOKENS, failure)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"content": 5}', b'{"content": [{"type": "text"}]}'])
async def test_what_is_no_message_is_broken(body: bytes) -> None:
    async with open_model((200, body)) as (model, _):
        assert (await model.ask(QUESTION)).failure is ModelFailure.BROKEN


@pytest.mark.parametrize(
    ("statuses", "failure", "calls"),
    [
        ([429, 529], None, 3),
        ([500, 500, 500], ModelFailure.UNAVAILABLE, 3),
        ([401], ModelFailure.DENIED, 1),
        ([400], ModelFailure.REJECTED, 1),
    ],
)
async def test_only_what_may_pass_is_tried_again(statuses: list[int], failure: ModelFailure | None, calls: int) -> None:
    answers = [*list_statuses(statuses), *([answer_with("{}")] if failure is None else [])]
    async with open_model(*answers) as (model, endpoint):
        assert (await model.ask(QUESTION)).failure is failure
    assert len(endpoint.bodies) == calls


async def test_an_answer_without_an_end_is_not_read_to_it() -> None:
    async with open_model((200, b" " * 2_000_000)) as (model, _):
        assert (await model.ask(QUESTION)).failure is ModelFailure.UNAVAILABLE


async def test_the_environment_names_no_other_endpoint_and_no_other_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "other")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with open_model(answer_with("{}")) as (model, endpoint):
        assert (await model.ask(QUESTION)).text == "{}"
    assert endpoint.headers[0]["authorization"] == "Bearer k"


def test_the_client_logs_no_requests() -> None:
    assert not logging.getLogger("anthropic").isEnabledFor(logging.DEBUG)

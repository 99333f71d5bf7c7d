from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from model_answers import PAGE, change_answer
from scripted_endpoint import ScriptedEndpoint, list_statuses, open_endpoint

from ingestion.adapters.openai_model import OpenAIModel, open_openai_model
from ingestion.domain.model_answer import ModelFailure, ModelReply, ModelTokens
from ingestion.domain.model_question import INSTRUCTIONS, build_question
from mailroom_common.settings import TLSSettings

QUESTION = build_question(PAGE, mark="5f", with_fields=True, answer_tokens=500)
USAGE = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 400}}
TOKENS = ModelTokens(1000, 400, 50)


def complete(content: object = None, *, reason: str = "stop", **message: Any) -> tuple[int, Any]:
    choice = {"message": {"content": content, **message}, "finish_reason": reason}
    return 200, {"choices": [choice], "usage": USAGE}


@asynccontextmanager
async def open_model(*answers: tuple[int, Any]) -> AsyncIterator[tuple[OpenAIModel, ScriptedEndpoint]]:
    async with (
        open_endpoint(*answers) as endpoint,
        open_openai_model(TLSSettings(), url=f"{endpoint.url}/v1/", key="k", model="m", timeout_s=5) as model,
    ):
        yield model, endpoint


async def test_a_question_goes_to_chat_completions_with_its_schema() -> None:
    async with open_model(complete(change_answer())) as (model, endpoint):
        assert await model.ask(QUESTION) == ModelReply(change_answer(), TOKENS)
    assert (endpoint.headers[0]["path"], endpoint.headers[0]["authorization"]) == ("/v1/chat/completions", "Bearer k")
    (body,) = endpoint.bodies
    assert [message["content"] for message in body["messages"]] == [INSTRUCTIONS, QUESTION.text]
    assert body["response_format"]["json_schema"]["schema"] == QUESTION.schema
    assert (body["model"], body["max_tokens"]) == ("m", 500)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (complete(refusal="I will not"), ModelFailure.REFUSED),
        (complete("x", reason="content_filter"), ModelFailure.REFUSED),
        (complete("{", reason="length"), ModelFailure.CUT_OFF),
        (complete([1]), ModelFailure.BROKEN),
    ],
)
async def test_what_is_no_answer_is_named_and_its_tokens_count(answer: tuple[int, Any], failure: ModelFailure) -> None:
    async with open_model(answer) as (model, _):
        assert await model.ask(QUESTION) == ModelReply(None, TOKENS, failure)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}'])
async def test_what_is_no_completion_is_broken(body: bytes) -> None:
    async with open_model((200, body)) as (model, _):
        assert (await model.ask(QUESTION)).failure is ModelFailure.BROKEN


async def test_an_answer_without_an_end_is_not_read_to_it() -> None:
    async with open_model((200, b" " * 2_000_000)) as (model, _):
        assert (await model.ask(QUESTION)).failure is ModelFailure.BROKEN


@pytest.mark.parametrize(
    ("statuses", "failure", "calls"),
    [
        ([429, 503], None, 3),
        ([500, 500, 500], ModelFailure.UNAVAILABLE, 3),
        ([401], ModelFailure.DENIED, 1),
        ([400], ModelFailure.REJECTED, 1),
    ],
)
async def test_only_what_may_pass_is_tried_again(statuses: list[int], failure: ModelFailure | None, calls: int) -> None:
    async with open_model(*list_statuses(statuses), *([complete("{}")] if failure is None else [])) as (
        model,
        endpoint,
    ):
        assert (await model.ask(QUESTION)).failure is failure
    assert len(endpoint.bodies) == calls


async def test_an_endpoint_that_is_away_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingestion.adapters.openai_model.backoff_s", lambda *_, **__: 0)
    async with open_openai_model(TLSSettings(), url="http://127.0.0.1:1/v1", key=None, model="m", timeout_s=1) as model:
        assert (await model.ask(QUESTION)).failure is ModelFailure.UNAVAILABLE


async def test_a_model_that_has_another_name_for_the_limit_is_asked_by_that() -> None:
    refusal = 400, {"error": {"message": "Use 'max_completion_tokens' instead."}}
    async with open_model(refusal, complete("{}")) as (model, endpoint):
        assert (await model.ask(QUESTION)).text == "{}"
    assert endpoint.bodies[1]["max_completion_tokens"] == 500
    assert "max_tokens" not in endpoint.bodies[1]

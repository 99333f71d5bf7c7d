"""Models behind any endpoint that speaks OpenAI's chat completions: a provider's, or a server of one's own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson

from ingestion.domain.model_answer import (
    MAX_ANSWER_BYTES,
    ModelFailure,
    ModelReply,
    ModelTokens,
    classify_status,
    count_tokens,
)
from ingestion.domain.model_question import ModelQuestion
from mailroom_common.errors import MailroomError, ProviderUnavailable
from mailroom_common.providers.http import ProviderAnswer, open_client, parse_retry_after_s, send_request
from mailroom_common.retries import backoff_s
from mailroom_common.settings import TLSSettings

API = "openai"
_ATTEMPTS = 3
_LONGEST_PAUSE_S = 20.0


@asynccontextmanager
async def open_openai_model(
    settings: TLSSettings, *, url: str, key: str | None, model: str, timeout_s: float
) -> AsyncIterator["OpenAIModel"]:
    async with open_client(settings, timeout_s=timeout_s) as client:
        yield OpenAIModel(client, url, key, model)


class OpenAIModel:
    """`url` ends before `/chat/completions`. A server on this machine may need no key."""

    api = API

    def __init__(self, client: httpx.AsyncClient, url: str, key: str | None, model: str) -> None:
        self._client = client
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._model = model
        # Newer models of OpenAI's refuse the name that all other servers know.
        self._limit_name = "max_tokens"
        self.name = f"{API}:{model}"

    async def ask(self, question: ModelQuestion) -> ModelReply:
        for attempt in range(1, _ATTEMPTS + 1):
            answer: ProviderAnswer | None
            try:
                answer = await self._send(question)
            except ProviderUnavailable:
                answer = None
            except MailroomError:  # an answer without an end
                return _fail(ModelFailure.BROKEN)
            if answer is not None and answer.is_success:
                return _read_completion(answer)
            failure = ModelFailure.UNAVAILABLE if answer is None else classify_status(answer.status)
            if answer is not None and self._learns_limit_name(answer):
                continue
            if failure is not ModelFailure.UNAVAILABLE or attempt == _ATTEMPTS:
                return _fail(failure)
            await asyncio.sleep(_compute_pause_s(answer, attempt))
        return _fail(ModelFailure.REJECTED)

    async def _send(self, question: ModelQuestion) -> ProviderAnswer:
        body = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": question.instructions},
                {"role": "user", "content": question.text},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "document", "strict": True, "schema": question.schema},
            },
            self._limit_name: question.answer_tokens,
        }
        request = self._client.build_request("POST", self._url, json=body, headers=self._headers)
        return await send_request(self._client, request, limit_bytes=MAX_ANSWER_BYTES)

    def _learns_limit_name(self, answer: ProviderAnswer) -> bool:
        if self._limit_name != "max_tokens" or answer.status != 400 or b"max_completion_tokens" not in answer.body:
            return False
        self._limit_name = "max_completion_tokens"
        return True


def _compute_pause_s(answer: ProviderAnswer | None, attempt: int) -> float:
    asked = None if answer is None else parse_retry_after_s(answer.headers, now=datetime.now(UTC))
    return min(backoff_s(attempt, initial_s=0.5, max_s=8) if asked is None else asked, _LONGEST_PAUSE_S)


def _fail(failure: ModelFailure) -> ModelReply:
    return ModelReply(None, ModelTokens(), failure)


def _read_completion(answer: ProviderAnswer) -> ModelReply:
    try:
        completion = orjson.loads(answer.body)
        tokens = _read_tokens(completion.get("usage") or {})
        choice = completion["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        if message.get("refusal") or reason == "content_filter":
            return ModelReply(None, tokens, ModelFailure.REFUSED)
        if reason == "length":
            return ModelReply(None, tokens, ModelFailure.CUT_OFF)
        text = message["content"]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return _fail(ModelFailure.BROKEN)
    return ModelReply(text, tokens) if isinstance(text, str) else ModelReply(None, tokens, ModelFailure.BROKEN)


def _read_tokens(usage: Mapping[str, Any]) -> ModelTokens:
    cached = count_tokens((usage.get("prompt_tokens_details") or {}).get("cached_tokens"))
    read = count_tokens(usage.get("prompt_tokens"))
    return ModelTokens(read, min(cached, read), count_tokens(usage.get("completion_tokens")))

"""Anthropic's models, by its own client: structured output, the file or its text, the instructions cached."""

import base64
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from anthropic import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncAnthropic
from anthropic.types import Message

from ingestion.adapters.bounded_answers import BoundedTransport
from ingestion.domain.model_answer import (
    MAX_ANSWER_BYTES,
    ModelFailure,
    ModelReply,
    ModelTokens,
    classify_status,
    count_tokens,
)
from ingestion.domain.model_question import ModelQuestion
from mailroom_common.providers.http import USER_AGENT, build_ssl_context
from mailroom_common.settings import TLSSettings

API = "anthropic"
_RETRIES = 2  # of answers 408, 409, 429 and 5xx, and of broken connections, after the pause that the server names
# The client logs whole requests where the process logs debug messages.
logging.getLogger("anthropic").setLevel(logging.WARNING)


@asynccontextmanager
async def open_anthropic_model(
    settings: TLSSettings, *, url: str, key: str, model: str, timeout_s: float
) -> AsyncIterator["AnthropicModel"]:
    # A client of ours, with our context and proxy: the environment's own variables are not trusted (ADR 10).
    transport = httpx2.AsyncHTTPTransport(
        verify=build_ssl_context(settings), trust_env=False, proxy=settings.https_proxy
    )
    http = httpx2.AsyncClient(
        transport=BoundedTransport(transport, MAX_ANSWER_BYTES),
        trust_env=False,
        timeout=timeout_s,
        follow_redirects=False,
        headers={"User-Agent": USER_AGENT},
    )
    client = AsyncAnthropic(
        api_key=key, base_url=url, http_client=http, max_retries=_RETRIES, timeout=timeout_s, open_telemetry=False
    )
    async with client:
        yield AnthropicModel(client, model)


class AnthropicModel:
    api = API

    def __init__(self, client: AsyncAnthropic, model: str) -> None:
        self._client = client
        self._model = model
        self.name = f"{API}:{model}"

    async def ask(self, question: ModelQuestion) -> ModelReply:
        try:
            message = await self._client.messages.create(
                model=self._model,
                max_tokens=question.answer_tokens,
                system=[{"type": "text", "text": question.instructions, "cache_control": {"type": "ephemeral"}}],
                messages=[{"role": "user", "content": _build_content(question)}],
                output_config={"format": {"type": "json_schema", "schema": question.schema}},
            )
        except (APIConnectionError, APITimeoutError):
            return ModelReply(None, ModelTokens(), ModelFailure.UNAVAILABLE)
        except APIStatusError as error:
            return ModelReply(None, ModelTokens(), classify_status(error.status_code))
        except (APIError, ValueError):
            # Half an answer, or a proxy's page in place of one.
            return ModelReply(None, ModelTokens(), ModelFailure.BROKEN)
        return _read_message(message)


def _build_content(question: ModelQuestion) -> Any:  # Any: one of the client's many kinds of blocks
    if question.pdf is None:
        return [{"type": "text", "text": question.text}]
    data = base64.standard_b64encode(question.pdf).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return [
        {"type": "document", "source": source},
        {"type": "text", "text": "The document is attached. Answer with its fields."},
    ]


def _read_message(message: Message) -> ModelReply:
    # The client does not check types: a server that answers otherwise gives anything.
    usage, reason = getattr(message, "usage", None), getattr(message, "stop_reason", None)
    cached = _count(usage, "cache_read_input_tokens")
    read = _count(usage, "input_tokens") + _count(usage, "cache_creation_input_tokens") + cached
    tokens = ModelTokens(read, cached, _count(usage, "output_tokens"))
    if reason == "refusal":
        return ModelReply(None, tokens, ModelFailure.REFUSED)
    if reason in ("max_tokens", "model_context_window_exceeded"):
        return ModelReply(None, tokens, ModelFailure.CUT_OFF)
    content = getattr(message, "content", None)
    texts = [getattr(block, "text", None) for block in content] if isinstance(content, list) else []
    is_whole = reason == "end_turn" and len(texts) == 1 and isinstance(texts[0], str)
    return ModelReply(texts[0], tokens) if is_whole else ModelReply(None, tokens, ModelFailure.BROKEN)


def _count(usage: object, name: str) -> int:
    return count_tokens(getattr(usage, name, None))

from typing import Any

import pytest
from ingestion_fakes import NOW

from ingestion.adapters.anthropic_model import AnthropicModel
from ingestion.adapters.openai_model import OpenAIModel
from ingestion.app.language_model import open_assistant, open_model
from ingestion.settings import LanguageModelSettings
from mailroom_common.errors import SettingsError
from mailroom_common.settings import load_settings

USE = {"llm_use": "acme:invoice:unsure", "llm_model": "m", "llm_key": "k"}
LOCAL = {"llm_use": "*:invoice:extract", "llm_api": "openai", "llm_url": "http://127.0.0.1:8000/v1", "llm_model": "m"}
NOTHING: Any = None


async def test_without_a_setting_there_is_no_model() -> None:
    async with open_assistant(LanguageModelSettings(), NOTHING, NOTHING, clock=lambda: NOW) as assistant:
        assert assistant is None


async def test_the_setting_opens_the_model_of_its_api() -> None:
    async with open_model(load_settings(LanguageModelSettings, **USE)) as model:
        assert isinstance(model, AnthropicModel)
    async with open_model(load_settings(LanguageModelSettings, **LOCAL)) as model:
        assert isinstance(model, OpenAIModel)
    async with open_assistant(
        load_settings(LanguageModelSettings, **USE), NOTHING, NOTHING, clock=lambda: NOW
    ) as assistant:
        assert assistant is not None


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"llm_use": "acme:invoice"}, "MAILROOM_LLM_USE"),
        ({"llm_model": ""}, "MAILROOM_LLM_MODEL"),
        ({"llm_key": None}, "MAILROOM_LLM_KEY"),
        ({"llm_url": "http://models.example/v1"}, "MAILROOM_LLM_URL"),
        ({"llm_api": "openai"}, "MAILROOM_LLM_URL"),
        ({"llm_day_cost": 5}, "MAILROOM_LLM_INPUT_PRICE"),
    ],
)
def test_half_of_a_model_is_a_mistake_that_names_its_variable(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        load_settings(LanguageModelSettings, **{**USE, **changed})


def test_a_pdf_cannot_go_to_an_endpoint_that_takes_none() -> None:
    with pytest.raises(SettingsError, match="MAILROOM_LLM_INPUT"):
        load_settings(LanguageModelSettings, **LOCAL, llm_input="pdf")

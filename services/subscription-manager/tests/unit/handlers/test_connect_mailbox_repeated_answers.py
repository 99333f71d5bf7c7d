"""The provider's answer that comes twice: the second tells what became of the first."""

import asyncio
from datetime import timedelta

import pytest
from connection_samples import NOW
from consent_setup import ConsentSetup

from mailroom_common.errors import ProviderUnavailable, Rejected
from subscription_manager.domain.connection import ConnectionState
from subscription_manager.handlers.consent_refusals import ConsentRefused


async def test_second_answer_tells_what_became_of_the_first(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    connected = await setup.finish_consent(redirect)
    setup.clock.advance(timedelta(hours=1))
    assert await setup.finish_consent(redirect) == connected
    assert len(setup.provider.exchanged) == 1


async def test_second_answer_that_comes_while_the_first_is_under_way_waits_for_it(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)

    async def take_a_while() -> None:
        await asyncio.sleep(0.05)

    setup.provider.during["exchange"] = take_a_while
    first, second = await asyncio.gather(setup.finish_consent(redirect), setup.finish_consent(redirect))
    assert (first.state, first) == (ConnectionState.ACTIVE, second)
    assert len(setup.provider.exchanged) == 1


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (Rejected("canary"), "not what it must be"),
        (ProviderUnavailable("canary"), "could not be reached"),
    ],
)
async def test_second_answer_is_refused_with_the_sentence_of_the_first(
    setup: ConsentSetup, error: Exception, sentence: str
) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.provider.errors["exchange"] = error
    with pytest.raises((ConsentRefused, ProviderUnavailable)):
        await setup.finish_consent(redirect)
    setup.provider.errors.clear()
    with pytest.raises(ConsentRefused, match=sentence) as again:
        await setup.finish_consent(redirect)
    assert "canary" not in str(again.value)
    assert "not what it must be" not in repr(setup.flows.flows), "its sentence may name whoever signed in"


async def test_second_answer_after_an_error_that_nobody_foresaw_is_answered_at_once(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    setup.provider.errors["exchange"] = ZeroDivisionError("canary")
    with pytest.raises(ZeroDivisionError):
        await setup.finish_consent(redirect)
    with pytest.raises(ConsentRefused, match="Something went wrong on our side") as again:
        await setup.finish_consent(redirect)
    assert "canary" not in str(again.value)


async def test_second_answer_after_a_process_died_over_the_first_says_what_to_do(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    await setup.flows.finish_flow(redirect.flow_id, NOW)
    with pytest.raises(ConsentRefused, match="has not ended yet"):
        await setup.finish_consent(redirect)
    setup.clock.advance(timedelta(minutes=3))
    with pytest.raises(ConsentRefused, match="Something went wrong on our side"):
        await setup.finish_consent(redirect)


async def test_second_answer_from_another_browser_is_told_nothing(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    redirect = await setup.begin_consent(ticket)
    await setup.finish_consent(redirect)
    with pytest.raises(ConsentRefused, match="another browser"):
        await setup.finish_consent(redirect, cookie="guess")

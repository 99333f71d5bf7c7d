"""The link of a consent: what opens it, and how often."""

from datetime import timedelta

import pytest
from consent_setup import ConsentSetup

from subscription_manager.handlers.consent_refusals import ConsentRefused


async def test_looking_at_a_link_does_not_use_it_up(setup: ConsentSetup) -> None:
    connection, ticket = await setup.create_with_link()
    for _ in range(3):
        assert (await setup.connect.inspect_ticket("outlook", ticket)).id == connection.id
    assert (await setup.begin_consent(ticket)).url


async def test_ticket_is_good_once(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    await setup.begin_consent(ticket)
    with pytest.raises(ConsentRefused, match="used already"):
        await setup.begin_consent(ticket)
    with pytest.raises(ConsentRefused, match="used already"):
        await setup.connect.inspect_ticket("outlook", ticket)


async def test_ticket_expires(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    setup.clock.advance(timedelta(hours=1))
    with pytest.raises(ConsentRefused, match="expired"):
        await setup.begin_consent(ticket)


@pytest.mark.parametrize("ticket", ["", "guess"])
async def test_unknown_ticket_is_refused(setup: ConsentSetup, ticket: str) -> None:
    with pytest.raises(ConsentRefused, match="not valid"):
        await setup.connect.inspect_ticket("outlook", ticket)


async def test_ticket_of_one_provider_opens_no_page_of_another(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    with pytest.raises(ConsentRefused, match="not valid"):
        await setup.connect.inspect_ticket("gmail", ticket)


async def test_link_of_a_doc_source_that_is_being_deleted_has_expired(setup: ConsentSetup) -> None:
    connected = await setup.connect_mailbox()
    ticket = await setup.create.issue_ticket(connected.id)
    await setup.delete_doc_source(connected.id)
    with pytest.raises(ConsentRefused, match="expired"):
        await setup.connect.inspect_ticket("outlook", ticket)


async def test_button_that_is_pressed_twice_at_once_sends_one_browser(setup: ConsentSetup) -> None:
    _, ticket = await setup.create_with_link()
    first: list[object] = []

    async def press_first() -> None:
        setup.provider.during.clear()
        first.append(await setup.begin_consent(ticket))

    setup.provider.during["authorize"] = press_first
    with pytest.raises(ConsentRefused, match="used already"):
        await setup.begin_consent(ticket)
    assert len(first) == len(setup.flows.flows) == 1

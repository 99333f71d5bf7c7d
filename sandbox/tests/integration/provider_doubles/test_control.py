"""The control API, and the log of calls that it shows."""

import pytest

from mailroom_sandbox.provider_doubles.client import ControlError
from mailroom_sandbox.testkit.mailbox_users import GMAIL, OUTLOOK, MailboxUser, build_mail
from mailroom_sandbox.testkit.running_providers import RunningProviders


async def test_calls_are_listed_by_mailbox_without_their_query(
    providers: RunningProviders, outlook: MailboxUser, gmail: MailboxUser
) -> None:
    await providers.control.forget_calls()
    await outlook.send_request("GET", "/me/messages?$top=1")
    await outlook.send_request("GET", "/me/messages/none")
    await outlook.post_json("/$batch", {"requests": [{"id": "1", "method": "GET", "url": "/me"}]})
    await gmail.send_request("GET", "/profile")
    made = [(one["method"], one["path"], one["status"]) for one in await providers.control.list_calls(OUTLOOK.upper())]
    assert made == [
        ("GET", "/v1.0/me/messages", 200),
        ("GET", "/v1.0/me/messages/none", 404),
        ("GET", "$batch /v1.0/me", 200),
    ]
    every = await providers.control.list_calls()
    assert len(await providers.control.list_calls(after=every[-1]["seq"])) == 0
    assert [one["mailbox"] for one in await providers.control.list_calls(provider="gmail")] == [GMAIL]
    assert not any("token" in str(one) for one in every)


async def test_one_address_may_be_a_mailbox_of_both(providers: RunningProviders) -> None:
    control = providers.control
    for provider in ("outlook", "gmail"):
        await control.find_or_create_mailbox(provider, "both@company.example")
    assert len(await control.deliver_mail(build_mail(), "both@company.example")) == 2
    there = await control.list_messages("both@company.example")
    (only,) = await control.deliver_mail(build_mail(), "both@company.example", provider="gmail")
    await control.move_message("both@company.example", only, "trash")
    (outlooks,) = [one["message_id"] for one in there if one["provider"] == "outlook"]
    await control.delete_message("both@company.example", outlooks)
    left = [(one["provider"], one["message_id"]) for one in await control.list_messages("both@company.example")]
    assert len(left) == 2
    assert {provider for provider, _ in left} == {"gmail"}


async def test_mail_to_nobody_is_refused(providers: RunningProviders) -> None:
    with pytest.raises(ControlError, match="no mailbox nobody@"):
        await providers.control.deliver_mail(build_mail(), "nobody@company.example")
    with pytest.raises(ControlError, match="no such message"):
        await providers.control.delete_message(OUTLOOK, "nothing")


async def test_mailbox_is_created_once(providers: RunningProviders) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK)
    await providers.control.find_or_create_mailbox("outlook", OUTLOOK)
    assert len(await providers.control.list_messages(OUTLOOK)) == 1
    addresses = [one["address"] for one in await providers.control.list_mailboxes()]
    assert sorted(addresses) == sorted([OUTLOOK, GMAIL])
    with pytest.raises(ControlError, match="outlook' or 'gmail"):
        await providers.control.find_or_create_mailbox("pigeon", OUTLOOK)


async def test_reset_forgets_everything(providers: RunningProviders, outlook: MailboxUser) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK)
    await providers.control.reset_state()
    assert await providers.control.list_mailboxes() == []
    assert (await outlook.send_request("GET", "/me")).status_code == 401


async def test_subscriptions_are_listed_without_their_secrets(providers: RunningProviders) -> None:
    providers.state.store.execute_sql(
        "insert into subscription values ('s','a','u',null,'t','c','r','created','n',null,'secret','v1_2',1,1,1)"
    )
    assert "secret" not in str(await providers.control.list_subscriptions())

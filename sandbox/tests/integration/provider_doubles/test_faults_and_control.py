"""The switchboard and the control API."""

import pytest

from mailroom_sandbox.provider_doubles.client import ControlError
from mailroom_sandbox.provider_doubles.faults import FAULTS
from mailroom_sandbox.testkit.mailbox_users import GMAIL, OUTLOOK, Person, build_mail, sign_in_outlook_user
from mailroom_sandbox.testkit.running_providers import RunningProviders


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.parametrize("retry_after", ["2.128", "3", None])
async def test_unavailable_fault_fails_as_often_as_it_is_told(
    providers: RunningProviders, outlook: Person, gmail: Person, status: int, retry_after: str | None
) -> None:
    await providers.control.set_fault("unavailable", status=status, retry_after=retry_after, times=2)
    for person, path in ((outlook, "/me/messages"), (gmail, "/profile")):
        answer = await person.send_request("GET", path)
        assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)
        is_html = (
            answer.headers["content-type"] == "text/html; charset=utf-8" or "html" in answer.headers["content-type"]
        )
        assert is_html == (status == 504)
    assert (await outlook.send_request("GET", "/me/messages")).status_code == 200
    assert (await providers.control.list_faults())["items"] == []


async def test_fault_of_one_mailbox_spares_the_others(providers: RunningProviders, outlook: Person) -> None:
    await providers.control.create_mailbox("outlook", "bob@company.example")
    bob = await sign_in_outlook_user(providers, login_hint="bob@company.example")
    await providers.control.set_fault("unavailable", mailbox="bob@company.example")
    assert (await outlook.send_request("GET", "/me")).status_code == 200
    assert [
        (await bob.send_request("GET", path)).status_code for path in ("/me", "/me/messages", "/subscriptions")
    ] == [503] * 3


async def test_a_share_of_calls_fails(providers: RunningProviders, outlook: Person) -> None:
    await providers.control.set_fault("unavailable", share=0.5)
    statuses = [(await outlook.send_request("GET", "/me")).status_code for _ in range(40)]
    assert 5 < statuses.count(503) < 35


async def test_switchboard_explains_itself_and_refuses_nonsense(providers: RunningProviders) -> None:
    known = (await providers.control.list_faults())["known"]
    assert known.keys() == FAULTS.keys()
    assert all(one["help"] for one in known.values())
    for name, parameters in (("gravity", {}), ("unavailable", {"status": 418}), ("unavailable", {"colour": "red"})):
        with pytest.raises(ControlError):
            await providers.control.set_fault(name, **parameters)
    await providers.control.set_fault("delta_lag", mailbox=OUTLOOK.upper(), lag_s=1)
    assert await providers.control.clear_faults("delta_lag", mailbox=OUTLOOK) == 1


async def test_calls_are_listed_by_mailbox_without_their_query(
    providers: RunningProviders, outlook: Person, gmail: Person
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
        await control.create_mailbox(provider, "both@company.example")
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
    with pytest.raises(ControlError, match="404"):
        await providers.control.deliver_mail(build_mail(), "nobody@company.example")
    with pytest.raises(ControlError, match="404"):
        await providers.control.delete_message(OUTLOOK, "nothing")


async def test_mailbox_is_created_once(providers: RunningProviders) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK)
    await providers.control.create_mailbox("outlook", OUTLOOK)
    assert len(await providers.control.list_messages(OUTLOOK)) == 1
    addresses = [one["address"] for one in await providers.control.list_mailboxes()]
    assert sorted(addresses) == sorted([OUTLOOK, GMAIL])
    with pytest.raises(ControlError, match="422"):
        await providers.control.create_mailbox("pigeon", OUTLOOK)


async def test_reset_forgets_everything(providers: RunningProviders, outlook: Person) -> None:
    await providers.control.deliver_mail(build_mail(), OUTLOOK)
    await providers.control.reset_state()
    assert await providers.control.list_mailboxes() == []
    assert (await outlook.send_request("GET", "/me")).status_code == 401


async def test_subscriptions_are_listed_without_their_secrets(providers: RunningProviders) -> None:
    providers.state.store.execute_sql(
        "insert into subscription values ('s','a','u',null,'t','c','r','created','n',null,'secret','v1_2',1,1,1)"
    )
    assert "secret" not in str(await providers.control.list_subscriptions())

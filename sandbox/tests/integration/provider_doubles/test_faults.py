"""The fault switchboard."""

import pytest

from mailroom_sandbox.provider_doubles.client import ControlError
from mailroom_sandbox.provider_doubles.faults import FAULTS
from mailroom_sandbox.testkit.mailbox_users import OUTLOOK, MailboxUser, sign_in_outlook_user
from mailroom_sandbox.testkit.running_providers import RunningProviders


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.parametrize("retry_after", ["2.128", "3", None])
async def test_unavailable_fault_fails_as_often_as_it_is_told(
    providers: RunningProviders, outlook: MailboxUser, gmail: MailboxUser, status: int, retry_after: str | None
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


async def test_fault_of_one_mailbox_spares_the_others(providers: RunningProviders, outlook: MailboxUser) -> None:
    await providers.control.find_or_create_mailbox("outlook", "bob@company.example")
    bob = await sign_in_outlook_user(providers, login_hint="bob@company.example")
    await providers.control.set_fault("unavailable", mailbox="bob@company.example")
    assert (await outlook.send_request("GET", "/me")).status_code == 200
    assert [
        (await bob.send_request("GET", path)).status_code for path in ("/me", "/me/messages", "/subscriptions")
    ] == [503] * 3


async def test_a_share_of_calls_fails(providers: RunningProviders, outlook: MailboxUser) -> None:
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


async def test_unavailable_fault_strikes_only_the_named_path(
    providers: RunningProviders, outlook: MailboxUser, gmail: MailboxUser
) -> None:
    await providers.control.set_fault("unavailable", path="/Subscriptions")
    paths = ("/subscriptions", "/me/messages")
    assert [(await outlook.send_request("GET", path)).status_code for path in paths] == [503, 200]
    assert (await gmail.send_request("GET", "/profile")).status_code == 200

"""The ledger's units, and quotas in sliding windows."""

from mailroom_sandbox.testkit.mailbox_users import GMAIL, OUTLOOK, MailboxUser, build_mail, sign_in_gmail_user
from mailroom_sandbox.testkit.running_providers import RunningProviders

PDF = b"%PDF-1.4 sample\n" * 100


async def test_ledger_sums_what_each_mailbox_costs(
    providers: RunningProviders, outlook: MailboxUser, gmail: MailboxUser
) -> None:
    (message_id,) = await providers.control.deliver_mail(build_mail(files=[("a.pdf", PDF)]), GMAIL)
    for path in ("/profile", "/labels", "/history?startHistoryId=1000", "/messages", f"/messages/{message_id}"):
        await gmail.get_json(path)
    await gmail.post_json("/watch", {"topicName": providers.settings.pubsub_topic})
    await gmail.send_request("POST", "/stop")
    await outlook.get_json("/me/messages")
    await outlook.get_json("/me/messages/none", status=404)
    await outlook.get_json("/me")
    on_gmail, on_outlook = await providers.control.sum_units()
    assert (on_gmail["mailbox"], on_gmail["units"]) == (GMAIL, 1 + 1 + 2 + 5 + 20 + 100 + 50)
    assert (on_outlook["units"], on_outlook["failed"]) == (2, 1)
    assert on_gmail["most_units_in_window"] == on_gmail["units"]
    newest = (await providers.control.list_calls(GMAIL))[-1]
    assert newest["units"] == 50
    assert await providers.control.sum_units(GMAIL, after=newest["seq"]) == []


async def test_gmail_user_is_refused_above_the_units_of_the_window_and_spends_nothing_then(
    providers: RunningProviders, gmail: MailboxUser
) -> None:
    await providers.control.set_fault("exact_quotas", gmail_user_units=12, gmail_window_s=0.5)
    statuses = [(await gmail.send_request("GET", "/messages")).status_code for _ in range(4)]
    assert statuses == [200, 200, 429, 429]
    assert (await gmail.send_request("GET", "/profile")).status_code == 200  # it fits
    (summed,) = await providers.control.sum_units(GMAIL, window_s=0.5)
    assert (summed["units"], summed["failed"]) == (11, 2)
    while (await gmail.send_request("GET", "/messages")).status_code == 429:
        pass
    (summed,) = await providers.control.sum_units(GMAIL, window_s=0.5)
    assert summed["most_units_in_window"] <= 12


async def test_gmail_project_is_one_budget_for_all_its_users(providers: RunningProviders, gmail: MailboxUser) -> None:
    await providers.control.find_or_create_mailbox("gmail", "bob@mail.example")
    bob = await sign_in_gmail_user(providers, login_hint="bob@mail.example")
    await providers.control.set_fault("exact_quotas", gmail_project_units=9)
    assert (await gmail.send_request("GET", "/messages")).status_code == 200
    assert (await bob.send_request("GET", "/messages")).status_code == 429


async def test_graph_counts_refused_calls_too_and_says_when_the_next_fits(
    providers: RunningProviders, outlook: MailboxUser
) -> None:
    await providers.control.set_fault("exact_quotas", mailbox=OUTLOOK, graph_calls=3, graph_window_s=3600)
    answers = [await outlook.send_request("GET", "/me/messages") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert 3500 < float(answers[-1].headers["retry-after"]) <= 3600
    assert (await outlook.send_request("GET", "/me")).status_code == 200  # the directory's, not the mailbox's

"""The process itself: settings from the environment, state that a kill -9 does not touch, a clean end."""

import asyncio
import os
import signal
import ssl
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx

from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.provider_doubles.endpoints import ProviderEndpoints
from mailroom_sandbox.provider_doubles.settings import ProvidersSettings
from mailroom_sandbox.testkit.mailbox_users import (
    GMAIL,
    OUTLOOK,
    MailboxUser,
    build_mail,
    days_from_now,
    request_google_token,
    request_microsoft_token,
    sign_in_gmail_user,
    sign_in_outlook_user,
)
from mailroom_sandbox.testkit.running_providers import RunningProviders, load_settings, running_providers
from mailroom_sandbox.testkit.webhook_receiver import WebhookReceiver


def environment(settings: ProvidersSettings) -> dict[str, str]:
    fields = settings.model_dump(exclude_none=True, exclude_defaults=True)
    own = {f"MAILROOM_SANDBOX_{name.upper()}": str(value) for name, value in fields.items()}
    return {"PATH": os.environ["PATH"], **own}


@asynccontextmanager
async def process(settings: ProvidersSettings) -> AsyncIterator[Process]:
    """Running, with its ports open; killed at the end if it still runs."""
    command = [sys.executable, "-m", "mailroom_sandbox.provider_doubles"]
    child = await asyncio.create_subprocess_exec(*command, env=environment(settings), stdout=PIPE, stderr=PIPE)
    try:
        assert child.stdout is not None
        line = (await asyncio.wait_for(child.stdout.readline(), 60)).decode()
        assert line.startswith("providers ready: "), (await child.stderr.read()).decode() if child.stderr else line
        yield child
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


def trusting(folder: Path) -> httpx.AsyncClient:
    return httpx.AsyncClient(verify=ssl.create_default_context(cafile=folder / "ca.pem"), trust_env=False)


async def test_killed_process_goes_on_where_it_was(folder: Path, webhook: WebhookReceiver) -> None:
    settings = load_settings(folder)
    at = ProviderEndpoints.from_settings(settings)
    async with running_providers(folder) as providers:
        for provider, address in (("outlook", OUTLOOK), ("gmail", GMAIL)):
            await providers.control.find_or_create_mailbox(provider, address)
        ada, gmail = await sign_in_outlook_user(providers), await sign_in_gmail_user(providers)
    async with process(settings) as child, ControlClient(at.control_url) as control, trusting(folder) as http:
        ada, gmail = replace(ada, http=http), replace(gmail, http=http)
        ids = await control.deliver_mail(build_mail(), OUTLOOK, times=3)
        link = (await ada.get_json("/me/mailFolders/inbox/messages/delta", prefer='IdType="ImmutableId"'))[
            "@odata.deltaLink"
        ]
        history_id = (await gmail.get_json("/profile"))["historyId"]
        await control.deliver_mail(build_mail(), GMAIL)
        made = await ada.post_json(
            "/subscriptions",
            {
                "resource": "/me/messages",
                "changeType": "created",
                "notificationUrl": f"{webhook.url}/webhooks/outlook",
                "expirationDateTime": days_from_now(1),
            },
            status=201,
        )
        await control.set_fault("delta_lag", mailbox=GMAIL, lag_s=0)
        child.send_signal(signal.SIGKILL)
        await child.wait()
    async with process(settings) as child, ControlClient(at.control_url) as control, trusting(folder) as http:
        ada, gmail = replace(ada, http=http), replace(gmail, http=http)
        assert [one["message_id"] for one in await control.list_messages(OUTLOOK)] == ids
        (new,) = await control.deliver_mail(build_mail("New"), OUTLOOK)
        changed = await ada.get_json(link, prefer='IdType="ImmutableId"')
        assert [item["id"] for item in changed["value"]] == [new]
        assert len((await gmail.get_json(f"/history?startHistoryId={history_id}"))["history"]) == 1
        assert [one["id"] for one in (await ada.get_json("/subscriptions"))["value"]] == [made["id"]]
        await webhook.wait_for_posts(1)
        assert [one["name"] for one in (await control.list_faults())["items"]] == ["delta_lag"]
        child.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(child.wait(), 10) == 0
    async with running_providers(folder) as providers:
        await _tokens_still_work(providers, ada, gmail)


async def _tokens_still_work(providers: RunningProviders, ada: MailboxUser, gmail: MailboxUser) -> None:
    for refresh, person in ((request_microsoft_token, ada), (request_google_token, gmail)):
        answer = await refresh(providers, grant_type="refresh_token", refresh_token=person.tokens["refresh_token"])
        assert answer.status_code == 200


async def test_wrong_setting_ends_with_a_sentence_that_names_it(folder: Path) -> None:
    wrong = {**environment(load_settings(folder)), "MAILROOM_SANDBOX_GOOGLE_PORT": "many"}
    command = [sys.executable, "-m", "mailroom_sandbox.provider_doubles"]
    child = await asyncio.create_subprocess_exec(*command, env=wrong, stdout=PIPE, stderr=PIPE)
    _, errors = await asyncio.wait_for(child.communicate(), 60)
    assert child.returncode == 78
    assert errors.decode().startswith("MAILROOM_SANDBOX_GOOGLE_PORT: ")


async def test_taken_port_ends_with_a_sentence(folder: Path, webhook: WebhookReceiver) -> None:
    taken = httpx.URL(webhook.url).port
    settings = load_settings(folder).model_copy(update={"control_port": taken})
    command = [sys.executable, "-m", "mailroom_sandbox.provider_doubles"]
    child = await asyncio.create_subprocess_exec(*command, env=environment(settings), stdout=PIPE, stderr=PIPE)
    _, errors = await asyncio.wait_for(child.communicate(), 60)
    assert child.returncode == 1
    assert f"cannot listen on 127.0.0.1:{taken}" in errors.decode().splitlines()[-1]

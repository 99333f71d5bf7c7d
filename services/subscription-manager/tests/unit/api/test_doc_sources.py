"""Roles and tenants on every endpoint, and the answers' shapes."""

from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from datetime import timedelta
from hashlib import sha256
from typing import Any

import httpx
import pytest
from connection_samples import NOW, PUBLIC_URL, make_connection
from consent_setup import ConsentSetup

from mailroom_common.auth import APIKeys
from mailroom_common.errors import AccessDenied, ItemGone, ProviderUnavailable
from mailroom_common.events import SourceFilter, SyncReason
from mailroom_common.process import Process
from mailroom_common.providers.types import Folder
from mailroom_common.tokens.store import StoredTokens
from mailroom_common.web import build_service_app
from subscription_manager.api.doc_sources import DocSourceHandlers, FilterRules, build_doc_source_routes
from subscription_manager.domain.connection import ConnectionState, CurrentSubscription

OURS = make_connection(start_at=NOW - timedelta(days=300))
THEIRS = make_connection(
    start_at=NOW - timedelta(days=300), id="99999999-9999-4999-8999-999999999999", tenant_id="other"
)
FIELDS = {
    "id",
    "tenant_id",
    "provider",
    "profile",
    "access",
    "address",
    "state",
    "connection_status",
    "connection_reason",
    "current_error",
    "subscription_expires_at",
    "last_successful_sync_at",
    "start_at",
    "relist_from",
    "relist_number",
    "folders",
    "filter",
    "created_at",
}
DELEGATED: dict[str, object] = {"provider": "outlook", "profile": "invoice", "access": "delegated"}
APPLICATION: dict[str, object] = {
    "provider": "outlook",
    "profile": "contract_note",
    "access": "application",
    "address": "desk@contoso.example",
    "provider_tenant": "contoso-id",
}


class API:
    def __init__(self) -> None:
        self.setup = ConsentSetup(OURS, THEIRS)
        self.connections = self.setup.connections
        self.grants = self.setup.grants
        handlers = DocSourceHandlers(
            self.connections, self.setup.create, self.setup.change, self.setup.relist, PUBLIC_URL
        )
        keys = ",".join(
            f"{tenant}:{role}:{sha256(f'{tenant}-{role}'.encode()).hexdigest()}"
            for tenant in ("acme", "other")
            for role in ("viewer", "operator", "admin")
        )
        app = build_service_app(Process("test"), title="test")
        app.include_router(build_doc_source_routes(handlers, APIKeys.parse_keys(keys)))
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service")

    async def call_api(
        self, method: str, path: str, role: str = "admin", tenant: str = "acme", **options: Any
    ) -> httpx.Response:
        headers = {"authorization": f"Bearer {tenant}-{role}"}
        return await self.http.request(method, path, headers=headers, **options)


@pytest.fixture
async def api() -> AsyncIterator[API]:
    api = API()
    async with api.http:
        yield api


ENDPOINTS: list[tuple[str, str, str, dict[str, object] | None]] = [
    ("GET", "/doc-sources", "viewer", None),
    ("GET", "/doc-sources/{id}", "viewer", None),
    ("POST", "/doc-sources", "operator", DELEGATED),
    ("POST", "/doc-sources", "admin", APPLICATION),
    ("POST", "/doc-sources", "admin", DELEGATED | {"start_at": "2020-01-01T00:00:00Z"}),
    ("POST", "/doc-sources", "operator", DELEGATED | {"start_at": NOW.isoformat()}),
    ("PATCH", "/doc-sources/{id}", "operator", {"folders": []}),
    ("PATCH", "/doc-sources/{id}", "operator", {"filter": {"sender_deny": ["news.example"]}}),
    ("POST", "/doc-sources/{id}/authorize", "operator", None),
    ("POST", "/doc-sources/{id}/pause", "operator", None),
    ("POST", "/doc-sources/{id}/resume", "operator", None),
    ("POST", "/doc-sources/{id}/sync", "operator", None),
    ("PATCH", "/doc-sources/{id}", "operator", {"relist_from": "2026-03-01T00:00:00Z"}),
    ("PATCH", "/doc-sources/{id}", "admin", {"start_at": "2020-01-01T00:00:00Z"}),
    ("DELETE", "/doc-sources/{id}", "admin", None),
    ("DELETE", "/doc-sources/{id}?purge=true", "admin", None),
]
ROLES = ["viewer", "operator", "admin"]


@pytest.mark.parametrize(("method", "path", "least", "body"), ENDPOINTS)
@pytest.mark.parametrize("role", ROLES)
async def test_each_role_does_what_the_table_gives_it_and_no_more(
    api: API, method: str, path: str, least: str, body: dict[str, object] | None, role: str
) -> None:
    before = dict(api.connections.rows)
    answer = await api.call_api(method, path.format(id=OURS.id), role, json=body)
    if ROLES.index(role) < ROLES.index(least):
        assert answer.status_code == 403
        assert answer.headers["content-type"] == "application/problem+json"
        assert api.connections.rows == before
    else:
        assert answer.status_code in (200, 201, 202, 409, 501)


@pytest.mark.parametrize(("method", "path", "least", "body"), ENDPOINTS)
async def test_nothing_is_answered_without_a_key(
    api: API, method: str, path: str, least: str, body: dict[str, object] | None
) -> None:
    answer = await api.http.request(method, path.format(id=OURS.id), json=body)
    assert answer.status_code == 401


@pytest.mark.parametrize(("method", "path", "least", "body"), [one for one in ENDPOINTS if "{id}" in one[1]])
@pytest.mark.parametrize("unknown", [THEIRS.id, "33333333-3333-4333-8333-333333333333", "nonsense"])
async def test_doc_source_of_another_tenant_is_one_that_does_not_exist(
    api: API, method: str, path: str, least: str, body: dict[str, object] | None, unknown: str
) -> None:
    before = dict(api.connections.rows)
    answer = await api.call_api(method, path.format(id=unknown), json=body)
    expected = 400 if unknown == "nonsense" else 501 if "purge" in path else 404
    assert answer.status_code == expected
    assert api.connections.rows == before
    assert api.connections.sync_requests == []


async def test_list_shows_the_tenants_own(api: API) -> None:
    assert [one["id"] for one in (await api.call_api("GET", "/doc-sources")).json()["items"]] == [OURS.id]
    theirs = await api.call_api("GET", "/doc-sources", tenant="other")
    assert [one["id"] for one in theirs.json()["items"]] == [THEIRS.id]


async def test_list_of_an_address_has_the_tenants_mailboxes_of_it_alone(api: API) -> None:
    api.connections.rows[OURS.id] = replace(OURS, address="AP@contoso.example")
    api.connections.rows[THEIRS.id] = replace(THEIRS, address="ap@contoso.example")
    listed = [
        await api.call_api("GET", "/doc-sources", params={"address": address})
        for address in ("ap@Contoso.example", "nobody@contoso.example", "contoso")
    ]
    assert [one["id"] for one in listed[0].json()["items"]] == [OURS.id]
    assert listed[1].json() == {"items": [], "next_cursor": None}
    assert listed[2].status_code == 422


async def test_next_page_of_an_address_has_no_other_mailboxes(api: API) -> None:
    for number in range(4):
        made = make_connection(id=f"{number}" * 8 + "-1111-4111-8111-111111111111", provider_user_id=f"u{number}")
        address = "ap@contoso.example" if number % 2 else "info@contoso.example"
        api.connections.rows[made.id] = replace(made, address=address)
    wanted = {"address": "ap@contoso.example", "limit": "1"}
    page = (await api.call_api("GET", "/doc-sources", params=wanted)).json()
    rest = (await api.call_api("GET", "/doc-sources", params={**wanted, "cursor": page["next_cursor"]})).json()
    assert [one["address"] for one in (*page["items"], *rest["items"])] == ["ap@contoso.example"] * 2
    assert rest["next_cursor"] is None


async def test_list_goes_on_from_its_cursor_without_gap_or_repeat(api: API) -> None:
    for number in range(7):
        made = make_connection(id=f"{number}" * 8 + "-1111-4111-8111-111111111111", provider_user_id=f"u{number}")
        # Several of one moment: the id decides between them.
        api.connections.rows[made.id] = replace(made, created_at=NOW + timedelta(seconds=number // 3))
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (
            await api.call_api("GET", "/doc-sources", params={"limit": 3} | ({"cursor": cursor} if cursor else {}))
        ).json()
        seen += [one["id"] for one in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    ours = [row.id for row in api.connections.rows.values() if row.tenant_id == "acme"]
    assert sorted(seen) == sorted(ours)
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("cursor", ["nonsense", "%%%", "bm8gY3Vyc29y"])
async def test_cursor_of_somebody_else_is_422(api: API, cursor: str) -> None:
    assert (await api.call_api("GET", "/doc-sources", params={"cursor": cursor})).status_code == 422


async def test_fields_are_those_of_the_design(api: API) -> None:
    api.connections.rows[OURS.id] = replace(
        OURS,
        subscription=CurrentSubscription(
            subscription_id="sub-canary",
            resource="r",
            expires_at=NOW,
            created_or_renewed_at=NOW,
            client_state_sha256="hash-canary",
        ),
    )
    shown = await api.call_api("GET", f"/doc-sources/{OURS.id}")
    assert set(shown.json()) == FIELDS
    assert shown.json()["subscription_expires_at"] == "2026-11-28T12:00:00Z"
    assert "canary" not in shown.text


async def test_delegated_one_comes_with_a_link_and_others_without(api: API) -> None:
    made = await api.call_api("POST", "/doc-sources", "operator", json=DELEGATED | {"folders": ["inbox"]})
    assert made.status_code == 201
    body = made.json()
    assert set(body) == FIELDS | {"authorize_url"}
    assert body["authorize_url"].startswith("https://mailroom.example/oauth/outlook/authorize?ticket=")
    assert (body["state"], body["connection_status"], body["connection_reason"]) == (
        "pending",
        None,
        "authorization_pending",
    )
    assert body["folders"] == ["inbox"]
    application = await api.call_api("POST", "/doc-sources", json=APPLICATION)
    assert (application.status_code, application.json()["authorize_url"]) == (201, None)
    assert application.json()["state"] == "active"


async def test_each_link_is_another(api: API) -> None:
    links = {
        (await api.call_api("POST", f"/doc-sources/{OURS.id}/authorize")).json()["authorize_url"] for _ in range(3)
    }
    assert len(links) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"provider": "yahoo"},
        {"profile": "everything"},
        {"access": "magic"},
        {"start_at": "2026-11-01T00:00:00"},  # no time zone
        {"address": "no address"},
        {"folders": "inbox"},
        {"tenant_id": "other"},
        {"access": "application"},
        {"access": "application", "provider_tenant": "contoso-id"},
        {"access": "application", "address": "desk@contoso.example"},
    ],
)
async def test_request_that_is_not_valid_is_422_and_makes_nothing(api: API, wrong: dict[str, object]) -> None:
    answer = await api.call_api("POST", "/doc-sources", json=DELEGATED | wrong)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(api.connections.rows) == {OURS.id, THEIRS.id}


async def test_mailbox_that_the_policy_does_not_allow_is_403(api: API) -> None:
    answer = await api.call_api("POST", "/doc-sources", json=APPLICATION | {"provider_tenant": "fabrikam-id"})
    assert answer.status_code == 403


async def test_mailbox_that_is_connected_already_is_409(api: API) -> None:
    await api.call_api("POST", "/doc-sources", json=APPLICATION)
    assert (await api.call_api("POST", "/doc-sources", json=APPLICATION)).status_code == 409


async def test_provider_that_is_not_set_up_is_409_with_the_missing_setting(api: API) -> None:
    api.setup.missing = "MAILROOM_MICROSOFT_CLIENT_ID is not set."
    answer = await api.call_api("POST", "/doc-sources", json=DELEGATED)
    assert answer.status_code == 409
    assert "MAILROOM_MICROSOFT_CLIENT_ID" in answer.json()["detail"]


async def test_pause_and_resume_are_published_and_resume_asks_for_a_sync(api: API) -> None:
    paused = await api.call_api("POST", f"/doc-sources/{OURS.id}/pause", "operator")
    assert (paused.status_code, paused.json()["state"]) == (200, "paused")
    again = await api.call_api("POST", f"/doc-sources/{OURS.id}/pause", "operator")
    assert again.status_code == 200
    assert api.connections.sync_requests == []
    resumed = await api.call_api("POST", f"/doc-sources/{OURS.id}/resume", "operator")
    assert resumed.json()["state"] == "active"
    assert api.connections.sync_requests == [(OURS.id, SyncReason.RESUME)]
    assert [(version, event and event.state.value) for _, version, event in api.connections.published] == [
        (2, "paused"),
        (3, "active"),
    ]


async def test_resume_of_an_active_one_asks_for_nothing(api: API) -> None:
    assert (await api.call_api("POST", f"/doc-sources/{OURS.id}/resume")).status_code == 200
    assert api.connections.sync_requests == []


async def test_sync_is_a_manual_request_of_an_active_one(api: API) -> None:
    assert (await api.call_api("POST", f"/doc-sources/{OURS.id}/sync", "operator")).status_code == 202
    assert api.connections.sync_requests == [(OURS.id, SyncReason.MANUAL)]
    api.connections.rows[OURS.id] = replace(OURS, state=ConnectionState.PAUSED)
    refused = await api.call_api("POST", f"/doc-sources/{OURS.id}/sync", "operator")
    assert refused.status_code == 409
    assert len(api.connections.sync_requests) == 1


@pytest.mark.parametrize("state", [ConnectionState.PENDING, ConnectionState.DELETING])
@pytest.mark.parametrize("verb", ["pause", "resume", "sync"])
async def test_state_that_does_not_allow_it_is_409(api: API, state: ConnectionState, verb: str) -> None:
    api.connections.rows[OURS.id] = replace(OURS, state=state)
    answer = await api.call_api("POST", f"/doc-sources/{OURS.id}/{verb}")
    assert answer.status_code == 409
    assert state.value in answer.json()["detail"]


async def test_delete_is_published_and_may_be_repeated(api: API) -> None:
    for _ in range(2):
        answer = await api.call_api("DELETE", f"/doc-sources/{OURS.id}")
        assert (answer.status_code, answer.json()["state"]) == (202, "deleting")
    assert [(version, event and event.state.value) for _, version, event in api.connections.published] == [
        (2, "deleting")
    ]
    assert (await api.call_api("POST", f"/doc-sources/{OURS.id}/authorize")).status_code == 409


async def test_delete_of_one_without_consent_is_over_at_once(api: API) -> None:
    api.connections.rows[OURS.id] = replace(OURS, state=ConnectionState.PENDING)
    await api.call_api("DELETE", f"/doc-sources/{OURS.id}")
    assert api.connections.published == [(OURS.id, 2, None)]
    assert (await api.call_api("GET", f"/doc-sources/{OURS.id}")).status_code == 404
    assert (await api.call_api("GET", "/doc-sources")).json()["items"] == []


async def test_delete_of_one_whose_consent_left_a_grant_is_under_way_until_that_is_given_back(api: API) -> None:
    api.connections.rows[OURS.id] = replace(OURS, state=ConnectionState.PENDING, provider_user_id=None)
    tokens = StoredTokens("access", "refresh", NOW)
    await api.grants.put_grant(OURS.id, "outlook", "user-1", tokens, frozenset())
    assert (await api.call_api("DELETE", f"/doc-sources/{OURS.id}", "admin", tenant="other")).status_code == 404
    answer = await api.call_api("DELETE", f"/doc-sources/{OURS.id}")
    assert (answer.status_code, answer.json()["state"]) == (202, "deleting")
    assert api.connections.rows[OURS.id].next_check_at == NOW


async def test_purge_is_501(api: API) -> None:
    answer = await api.call_api("DELETE", f"/doc-sources/{OURS.id}", params={"purge": "true"})
    assert answer.status_code == 501
    assert "without purge" in answer.json()["detail"]
    assert api.connections.rows[OURS.id] == OURS


async def test_unknown_provider_is_422_and_the_known_ones_are_named(api: API) -> None:
    answer = await api.call_api("POST", "/doc-sources", json=DELEGATED | {"provider": "yahoo"})
    assert answer.status_code == 422
    assert "gmail, outlook" in answer.json()["detail"]


async def test_folder_that_is_not_there_is_422_and_named(api: API) -> None:
    api.setup.folder_lister.folders = [Folder("f1", "Inbox", "inbox")]
    answer = await api.call_api("POST", "/doc-sources", json=APPLICATION | {"folders": ["inbox", "Invocies"]})
    assert answer.status_code == 422
    assert "no folder or label named Invocies" in answer.json()["detail"]
    assert set(api.connections.rows) == {OURS.id, THEIRS.id}


@pytest.mark.parametrize(
    ("error", "status"),
    [(AccessDenied("canary"), 422), (ItemGone("canary"), 422), (ProviderUnavailable("canary"), 503)],
)
async def test_mailbox_whose_folders_cannot_be_listed_is_said_without_the_providers_words(
    api: API, error: Exception, status: int
) -> None:
    api.setup.folder_lister.error = error
    answer = await api.call_api("POST", "/doc-sources", json=APPLICATION | {"folders": ["inbox"]})
    assert answer.status_code == status
    assert "canary" not in answer.text


async def test_pending_doc_source_is_corrected_and_a_connected_one_is_not(api: API) -> None:
    pending = await api.call_api("POST", "/doc-sources", "operator", json={**DELEGATED, "folders": ["typo"]})
    path = f"/doc-sources/{pending.json()['id']}"
    corrected = await api.call_api("PATCH", path, "operator", json={"folders": ["Invoices"]})
    assert (corrected.status_code, corrected.json()["folders"]) == (200, ["Invoices"])
    connected = await api.call_api("PATCH", f"/doc-sources/{OURS.id}", "operator", json={"folders": ["x"]})
    assert (connected.status_code, connected.json()["detail"]) == (
        409,
        "A doc source that is active cannot be corrected.",
    )


def test_senders_of_a_filter_are_normalized_and_listed_once() -> None:
    rules = FilterRules(
        sender_allow=[" Billing@Acme.example ", "billing@acme.example"],
        sender_deny=["@News.example", "mail.acme.co.uk"],
    )
    assert rules.to_source_filter() == SourceFilter(
        sender_allow=["billing@acme.example"], sender_deny=["@news.example", "mail.acme.co.uk"]
    )


@pytest.mark.parametrize("state", [ConnectionState.PENDING, ConnectionState.ACTIVE, ConnectionState.PAUSED])
async def test_filter_is_replaced_shown_and_published(api: API, state: ConnectionState) -> None:
    api.connections.rows[OURS.id] = replace(OURS, state=state, filter=SourceFilter(sender_allow=["acme.example"]))
    body = {"filter": {"sender_deny": ["News.example"], "strictness": "strict"}}
    answer = await api.call_api("PATCH", f"/doc-sources/{OURS.id}", "operator", json=body)
    assert answer.status_code == 200
    expected = {"sender_allow": [], "sender_deny": ["news.example"], "strictness": "strict"}
    assert answer.json()["filter"] == expected
    ((_, version, published),) = api.connections.published
    assert published is not None
    assert (version, asdict(published.filter)) == (OURS.published_version + 1, expected)
    assert (await api.call_api("GET", f"/doc-sources/{OURS.id}")).json()["filter"] == expected


async def test_filter_of_a_hundred_senders_in_16_kb_is_taken(api: API) -> None:
    rules = {"sender_allow": ["a" * 247 + ".example"] * 28 + ["a.example"] * 72, "sender_deny": ["b.example"] * 100}
    answer = await api.call_api("PATCH", f"/doc-sources/{OURS.id}", json={"filter": rules})
    assert answer.status_code == 200


async def test_filter_of_a_new_doc_source_is_published_with_it(api: API) -> None:
    made = await api.call_api("POST", "/doc-sources", json=DELEGATED | {"filter": {"strictness": "strict"}})
    assert made.status_code == 201
    ((_, _, published),) = api.connections.published
    assert published is not None
    assert published.filter.strictness == made.json()["filter"]["strictness"] == "strict"


async def test_filter_of_one_that_is_being_deleted_is_409(api: API) -> None:
    api.connections.rows[OURS.id] = replace(OURS, state=ConnectionState.DELETING)
    assert (await api.call_api("PATCH", f"/doc-sources/{OURS.id}", json={"filter": {}})).status_code == 409


@pytest.mark.parametrize(
    "body",
    [
        {"filter": {"sender_deny": ["com"]}},  # every sender of a top-level domain
        {"filter": {"sender_deny": ["a b.example"]}},
        {"filter": {"sender_allow": ["a@b@c.example"]}},
        {"filter": {"sender_allow": [""]}},
        {"filter": {"sender_allow": ["a.example"] * 101}},
        {"filter": {"sender_allow": ["a" * 248 + ".example"]}},
        {"filter": {list_name: ["a" * 247 + ".example"] * 33 for list_name in ("sender_allow", "sender_deny")}},
        {"filter": {"strictness": "harsh"}},
        {"filter": {"senders": []}},
        {"filter": {}, "folders": ["Inbox"]},
        {"filter": {}, "relist_from": "2026-03-01T00:00:00Z"},
    ],
)
async def test_filter_that_is_wrong_or_too_long_is_422_and_changes_nothing(api: API, body: dict[str, object]) -> None:
    assert (await api.call_api("PATCH", f"/doc-sources/{OURS.id}", json=body)).status_code == 422
    assert api.connections.published == []


async def test_filter_of_another_tenants_doc_source_is_404(api: API) -> None:
    assert (await api.call_api("PATCH", f"/doc-sources/{THEIRS.id}", json={"filter": {}})).status_code == 404

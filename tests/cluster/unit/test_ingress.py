"""Each push is recorded once, with the gateway's answer or with none."""

import io
import json
from pathlib import Path

import pytest
from mailroom_cluster.ingress import PushRecorder, read_pushes
from starlette.types import Message, Receive, Scope, Send

GRAPH_PATH = "/webhooks/outlook/notifications"


async def receive() -> Message:
    return {"type": "http.disconnect"}


async def send(_: Message) -> None:
    return


async def record(
    status: int | None, body: bytes = b"", *, method: str = "POST", path: str = GRAPH_PATH, query: bytes = b""
) -> list[int | None]:
    """The recorded statuses of one request that the application answers so, or breaks off without an answer."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if status is None:
            raise ConnectionResetError
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    out = io.StringIO()
    recorder = PushRecorder(answer, out)
    scope = {"type": "http", "method": method, "path": path, "query_string": query}
    try:
        await recorder(scope, receive, send)
    except ConnectionResetError:
        assert status is None
    return [json.loads(line)["status"] for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("status", [202, 401, 503])
async def test_an_answer_of_the_gateway_is_recorded_with_its_status(status: int) -> None:
    assert await record(status, b"busy") == [status]


@pytest.mark.parametrize("status", [502, 503])
async def test_an_answer_that_the_proxy_made_up_counts_as_none(status: int) -> None:
    assert await record(status, b'{"detail": "the service behind this path is not running"}') == [None]


async def test_a_push_that_broke_off_is_recorded_without_an_answer() -> None:
    assert await record(None) == [None]


async def test_other_requests_and_handshakes_are_no_pushes() -> None:
    assert await record(200, method="GET") == []
    assert await record(200, path="/documents") == []
    assert await record(200, query=b"validationToken=x") == []


async def test_recorded_pushes_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "pushes.jsonl"
    file.write_text('{"started_at": 1.5, "duration_s": 0.2, "status": null, "path": "/webhooks/gmail"}\n')
    (push,) = read_pushes(file)
    assert (push.started_at, push.duration_s, push.status) == (1.5, 0.2, None)

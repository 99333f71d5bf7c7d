"""What an ingress is elsewhere: TLS and routes by path to the chart's Services; it writes a line for each push.

A process of its own, so that nothing else that the test does makes an answer late.
"""

import asyncio
import json
import ssl
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mailroom_cluster.places import NODE_IP
from mailroom_cluster.push_judgement import Push
from mailroom_sandbox.site.reverse_proxy.forwarding import ReverseProxy
from mailroom_sandbox.site.reverse_proxy.listener import listen_on_port

_PUSH_PATHS = ("/webhooks/", "/api/graph/")
# How the reverse proxy itself answers for a connection to the service that was refused or broke.
_BROKEN_STATUSES = (502, 503)
_BROKEN_TEXT = b"the service behind this path"


class PushRecorder:
    """An ASGI application around another. An answer that the reverse proxy made up itself counts as none."""

    def __init__(self, app: ASGIApp, out: TextIO) -> None:
        self._app = app
        self._out = out

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_push(scope):
            await self._app(scope, receive, send)
            return
        started_at, started_s = time.time(), time.monotonic()
        answer = _Answer(send)
        try:
            await self._app(scope, receive, answer.send)
        finally:
            push = Push(started_at, time.monotonic() - started_s, answer.status)
            line = {"started_at": push.started_at, "duration_s": push.duration_s, "status": push.status}
            self._out.write(json.dumps({**line, "path": scope["path"]}) + "\n")
            self._out.flush()


class _Answer:
    """`status` is None until the answer is whole, and where it is the reverse proxy's own."""

    def __init__(self, send: Send) -> None:
        self.status: int | None = None
        self._send = send
        self._started_with = 0

    async def send(self, message: Message) -> None:
        await self._send(message)
        if message["type"] == "http.response.start":
            self._started_with = message["status"]
        elif not message.get("more_body", False):
            is_own = self._started_with in _BROKEN_STATUSES and _BROKEN_TEXT in message.get("body", b"")
            self.status = None if is_own else self._started_with


def _is_push(scope: Scope) -> bool:
    """A handshake is no push: Graph makes it while somebody waits for the subscription."""
    is_post = scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(_PUSH_PATHS)
    return is_post and b"validationToken" not in scope["query_string"]


def read_pushes(file: Path) -> list[Push]:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [Push(row["started_at"], row["duration_s"], row["status"]) for row in rows]


async def serve_ingress(given: Mapping[str, Any], out: TextIO) -> None:
    """Until it is killed. `given` has port, certificate and routes; a push becomes a line of `out`."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(given["certificate"])
    recorder = PushRecorder(ReverseProxy(given["routes"]), out)
    async with listen_on_port(recorder, port=given["port"], tls=tls, host=NODE_IP):
        await asyncio.Event().wait()


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text())
    with Path(settings["pushes"]).open("a") as out:
        asyncio.run(serve_ingress(settings, out))


if __name__ == "__main__":
    main()

"""The baseline: a bare ASGI app that reads the body and sends it back, on the server and settings of the gateway."""

import sys

from starlette.types import Receive, Scope, Send

from mailroom_common.process import Process, run_process
from mailroom_common.web import serve_app
from webhook_gateway.settings import Settings


async def echo_body(_scope: Scope, receive: Receive, send: Send) -> None:
    chunks = []
    more = True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(chunks)
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 202, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


async def run(settings: Settings, process: Process) -> None:
    await serve_app(echo_body, host=settings.http_host, port=settings.http_port, stopping=process.stopping)


if __name__ == "__main__":
    sys.exit(run_process("bench_bare", Settings, run))

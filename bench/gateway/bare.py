"""The measure: a bare ASGI app that reads the body and sends it back, on the server and settings of the gateway.

usage: bare.py PORT
"""

import asyncio
import signal
import sys

import uvloop
from starlette.types import Receive, Scope, Send

from mailroom_common.web import serve_app


async def echo(_scope: Scope, receive: Receive, send: Send) -> None:
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


async def main(port: int) -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    await serve_app(echo, host="127.0.0.1", port=port, stopping=stopping)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(sys.argv[1])))

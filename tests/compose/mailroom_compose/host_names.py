"""Names below `localhost` are this machine to browsers and curl (RFC 6761); here they are that to Python, too."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

_look_up = socket.getaddrinfo


@contextmanager
def localhost_names_resolved() -> Iterator[None]:
    with mock.patch.object(socket, "getaddrinfo", _look_up_locally):
        yield


def _look_up_locally(host: bytes | str | None, *arguments: Any, **options: Any) -> Any:  # the library's own types
    name = host.decode() if isinstance(host, bytes) else host or ""
    return _look_up("127.0.0.1" if name.endswith(".localhost") else host, *arguments, **options)

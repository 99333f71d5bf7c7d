"""Names below localhost are this machine, and others stay what they are."""

import socket

from mailroom_compose.host_names import localhost_names_resolved


def test_a_name_below_localhost_is_this_machine() -> None:
    with localhost_names_resolved():
        for name in ("mailroom.localhost", b"providers.localhost", "127.0.0.1"):
            assert socket.getaddrinfo(name, 8443, type=socket.SOCK_STREAM)[0][4] == ("127.0.0.1", 8443)

from ipaddress import ip_network

import pytest

from webhook_gateway.domain.source_address import source_address

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "expected"),
    [
        ("198.51.100.1", [], "198.51.100.1"),
        ("198.51.100.1", ["1.2.3.4"], "198.51.100.1"),  # a stranger's own word
        ("10.0.0.1", ["1.2.3.4"], "1.2.3.4"),
        ("10.0.0.1", ["9.9.9.9, 1.2.3.4, 10.0.0.2"], "1.2.3.4"),
        ("10.0.0.1", ["9.9.9.9, 1.2.3.4", "10.0.0.2"], "1.2.3.4"),  # the header twice
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),  # all are ours
        ("10.0.0.1", ["1.2.3.4, nonsense"], "10.0.0.1"),
        ("fd00::1", ["2001:db8::7"], "2001:db8::7"),
        ("10.0.0.1", [], "10.0.0.1"),
        (None, ["1.2.3.4"], None),
    ],
)
def test_the_nearest_address_that_no_trusted_proxy_has(
    peer: str | None, forwarded_for: list[str], expected: str | None
) -> None:
    assert source_address(peer, forwarded_for, TRUSTED) == expected

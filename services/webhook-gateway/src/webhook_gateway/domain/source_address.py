"""Who sent a request, behind the proxies that we trust and no others."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address


def source_address(
    peer: str | None, forwarded_for: Sequence[str], trusted: Sequence[IPv4Network | IPv6Network]
) -> str | None:
    """The nearest address that is not a trusted proxy's.

    `forwarded_for` are the values of `X-Forwarded-For`, each proxy having added on the right whom it heard: what a
    stranger wrote there himself stands further left than the first address that a trusted proxy vouches for.
    """
    nearest = peer
    for hop in reversed([part.strip() for value in forwarded_for for part in value.split(",")]):
        if not _is_trusted(nearest, trusted) or _parsed(hop) is None:
            break
        nearest = hop
    return nearest


def _is_trusted(address: str | None, trusted: Sequence[IPv4Network | IPv6Network]) -> bool:
    parsed = _parsed(address)
    return parsed is not None and any(parsed in network for network in trusted)


def _parsed(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text or "")
    except ValueError:
        return None

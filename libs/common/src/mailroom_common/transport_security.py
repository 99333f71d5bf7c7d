"""Which addresses may be spoken to without TLS: those of this machine, and all with `MAILROOM_INSECURE=1`."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from pydantic import AfterValidator, SecretStr, ValidationInfo

_UNLESS_INSECURE = "or set MAILROOM_INSECURE=1 on a site without real mail"


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine. An empty one is not: who knows what a client makes of it.

    Nor is a name below `localhost`: RFC 6761 makes it this machine, but a container's network may give it to another
    container, as docker-compose.yml does.
    """
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _allows_insecure(info: ValidationInfo) -> bool:
    """Also where MAILROOM_INSECURE is wrong, which is said of it: it may have been meant as 1."""
    return bool(info.data.get("insecure", True))


def _require_https(url: str, info: ValidationInfo) -> str:
    parts = urlsplit(url)
    if parts.scheme.lower() not in ("https", "http") or not parts.hostname:
        raise ValueError("an http or https URL is needed")
    if parts.scheme.lower() == "http" and not is_loopback(parts.hostname) and not _allows_insecure(info):
        raise ValueError(f"http:// is for loopback addresses only: use https://, {_UNLESS_INSECURE}")
    return url


HTTPSAddress = Annotated[str, AfterValidator(_require_https)]
"""A URL of a settings class that carries secrets: https, or http to this machine."""


def require_verified_database(url: SecretStr, info: ValidationInfo) -> SecretStr:
    """Refuses a server beyond loopback whose certificate and name the driver would not verify."""
    parts = _split_database_url(url)
    hosts = list(_database_hosts(parts))
    if not hosts:
        raise ValueError("the host is missing: postgresql://user:password@host:5432/database")
    is_verified = parse_qs(parts.query).get("sslmode", [""])[-1] == "verify-full"
    is_local = all(is_loopback(host) or host.startswith("/") for host in hosts)
    if not (is_verified or is_local or _allows_insecure(info)):
        raise ValueError(f"beyond loopback the URL needs ?sslmode=verify-full, {_UNLESS_INSECURE}")
    return url


def trust_authorities(url: SecretStr, bundle: str) -> SecretStr:
    """The URL with the authorities that a verified server is checked against, unless it names its own (`sslrootcert`).

    In the URL, so that every connection made from it has them, those of tools that are no code of ours included.
    """
    parts = _split_database_url(url)
    query = parse_qs(parts.query)
    if not query.get("sslmode", [""])[-1].startswith("verify-") or "sslrootcert" in query:
        return url
    return SecretStr(parts._replace(query=f"{parts.query}&sslrootcert={quote(bundle)}").geturl())


def _split_database_url(url: SecretStr) -> SplitResult:
    parts = urlsplit(url.get_secret_value())
    if parts.scheme not in ("postgresql", "postgres"):
        raise ValueError("a URL is needed: postgresql://user:password@host:5432/database")
    return parts


def _database_hosts(parts: SplitResult) -> Iterator[str]:
    """Several, comma-separated, are tried one after the other; a query may name further ones."""
    named = [parts.netloc.rpartition("@")[2], *parse_qs(parts.query).get("host", [])]
    for entry in ",".join(named).split(","):
        host = unquote(entry).strip()
        if host.startswith("["):
            yield host.partition("]")[0]
        elif host:
            yield host if host.startswith("/") else host.partition(":")[0]

"""The sandbox's certificate authority, made once: doubles and reverse proxy speak TLS with its certificates."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme

_NAMES = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Certificates:
    """`bundle` is what a client trusts; `server` is key and chain for 127.0.0.1 and localhost in one file."""

    bundle: Path
    server: Path

    def build_server_ssl_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.server)
        return context

    def client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.bundle))


def load_or_create_certificates(folder: Path) -> Certificates:
    certificates = Certificates(folder / "ca.pem", folder / "server.pem")
    # The bundle is written last, so its presence says that both are whole.
    if not certificates.bundle.exists():
        folder.mkdir(parents=True, exist_ok=True)
        authority = trustme.CA(organization_name="Mailroom sandbox")
        certificates.server.touch(mode=0o600)
        authority.issue_cert(*_NAMES).private_key_and_cert_chain_pem.write_to_path(certificates.server)
        authority.cert_pem.write_to_path(certificates.bundle)
    return certificates

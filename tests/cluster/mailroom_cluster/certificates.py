"""One authority for the run, as an operator's own would be: brokers, database, ingress, providers and object store."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from mailroom_cluster.places import NODE_IP


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """PEM: the chain, and its key in the form that Java reads too."""

    chain: str
    key: str

    @property
    def both(self) -> str:
        return self.key + self.chain


class CertificateAuthority:
    def __init__(self, folder: Path) -> None:
        self._authority = trustme.CA(organization_name="Mailroom cluster test")
        folder.mkdir(parents=True, exist_ok=True)
        self.bundle = folder / "ca.pem"
        self._authority.cert_pem.write_to_path(self.bundle)
        self.outside = folder / "outside.pem"
        self.outside.touch(mode=0o600)
        self.outside.write_text(self.issue(NODE_IP).both)

    @property
    def bundle_pem(self) -> str:
        return self.bundle.read_text()

    def issue(self, *names: str) -> ServerCertificate:
        issued = self._authority.issue_cert(*names, key_type=trustme.KeyType.ECDSA)
        chain = "".join(certificate.bytes().decode() for certificate in issued.cert_chain_pems)
        return ServerCertificate(chain, _as_pkcs8(issued.private_key_pem.bytes()))

    def build_server_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.outside)
        return context

    def build_client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.bundle))


def _as_pkcs8(key: bytes) -> str:
    """The one form of a PEM key that Kafka takes."""
    loaded = load_pem_private_key(key, password=None)
    return loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

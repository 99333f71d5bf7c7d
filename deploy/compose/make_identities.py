"""The job `identities` of docker-compose.yml: a certificate authority, and what each container proves itself with.

Below FOLDER there is a volume for each container, which it alone mounts: its certificate and key, the authority that it
trusts, and the passwords and keys that it needs. What is there already stays, so that a restart changes nothing; a
certificate is made anew a month before it ends. `python make_identities.py FOLDER`.
"""

import base64
import hashlib
import json
import os
import secrets
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import certifi
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS, CERTIFICATE_DAYS, RENEW_BEFORE_DAYS = 3650, 397, 31
MAILROOM = 10001  # the user of our images
TENANT = "mailroom"


@dataclass(frozen=True, slots=True)
class Identity:
    """`name` is the container's, `common_name` who it is at Kafka, `owner` the user number that reads its files."""

    name: str
    owner: int
    common_name: str
    host_names: tuple[str, ...] = ()
    database_role: str | None = None


def _process(name: str, role: str | None = None, *, component: str | None = None) -> Identity:
    """`component` is its name in the list of who may do what at Kafka."""
    return Identity(name, MAILROOM, f"mailroom-{component or name}", (name,), role)


IDENTITIES = (
    Identity("kafka", 1000, "kafka", ("kafka",)),
    Identity("postgres", 999, "postgres", ("postgres",)),
    Identity("s3", 0, "s3", ("s3",)),
    Identity("proxy", 101, "proxy", ("mailroom.localhost", "proxy", "localhost")),
    Identity("blob-access", MAILROOM, "blob-access"),
    Identity("jobs", MAILROOM, "mailroom-admin", database_role="mailroom_owner"),
    _process("webhook-gateway"),
    _process("subscription-manager", "mailroom_subscription_manager"),
    _process("coalescer", component="sync-engine-coalescer"),
    _process("sync-worker", "mailroom_sync_engine", component="sync-engine-worker"),
    _process("sync-api", "mailroom_sync_engine_api"),
    _process("ingestion-worker", "mailroom_ingestion"),
    _process("ingestion-api", "mailroom_ingestion"),
    Identity("provider-doubles", MAILROOM, "provider-doubles", ("providers.localhost",)),
    Identity("demo", MAILROOM, "demo"),
)
ROLES = sorted({identity.database_role for identity in IDENTITIES if identity.database_role})
# Who reads mailboxes, and so encrypts and decrypts their tokens; who stores documents; who answers the API.
# Ingestion seals passwords of locked documents with them.
WITH_TOKENS = {"subscription-manager", "sync-worker", "ingestion-worker", "ingestion-api"}
WITH_BLOBS = ("sync-worker", "ingestion-worker", "ingestion-api")
WITH_API = {"subscription-manager", "sync-api", "ingestion-api"}


class Authority:
    def __init__(self, folder: Path) -> None:
        self._certificate_file, self._key_file = folder / "ca.pem", folder / "ca.key"
        if not self._certificate_file.exists():
            key = ec.generate_private_key(ec.SECP256R1())
            name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Mailroom")])
            made = (
                _start_certificate(name, name, key.public_key(), AUTHORITY_DAYS)
                .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
                .add_extension(_key_usage(is_authority=True), critical=True)
                .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
                .sign(key, hashes.SHA256())
            )
            _write_file(self._key_file, _encode_key(key))
            # Last, so that its presence says that both are whole.
            _write_file(self._certificate_file, made.public_bytes(serialization.Encoding.PEM))
        self.pem = self._certificate_file.read_bytes()
        self._certificate = x509.load_pem_x509_certificate(self.pem)
        loaded = serialization.load_pem_private_key(self._key_file.read_bytes(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)  # noqa: S101  # we have made it
        self._key = loaded

    def issue_certificate(self, identity: Identity) -> tuple[bytes, bytes]:
        """The chain and the key, PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, identity.common_name)])
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        made = (
            _start_certificate(subject, self._certificate.subject, key.public_key(), CERTIFICATE_DAYS)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(is_authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if identity.host_names:
            names = [x509.DNSName(name) for name in identity.host_names]
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        chain = made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM) + self.pem
        return chain, _encode_key(key)


def _start_certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        # The clocks of a host and its containers are one, but those of browsers are not.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
    )


def _key_usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write_file(path: Path, content: bytes) -> None:
    """Whole or not at all, and readable by its owner alone from the first byte on."""
    beside = path.with_name(f".{path.name}")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def read_or_create_secret(folder: Path, name: str) -> str:
    file = folder / name
    if not file.exists():
        _write_file(file, secrets.token_urlsafe(32).encode())
    return file.read_text()


def _needs_certificate(file: Path) -> bool:
    if not file.exists():
        return True
    ends = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc
    return ends - datetime.now(UTC) < timedelta(days=RENEW_BEFORE_DAYS)


def list_secrets(identity: Identity, vault: Path) -> dict[str, str]:
    """What else the container gets, by file name."""
    found: dict[str, str] = {}
    role = identity.database_role
    if role:
        password = read_or_create_secret(vault, f"password-{role}")
        found["database-url"] = f"postgresql://{role}:{password}@postgres:5432/mailroom?sslmode=verify-full"
    if identity.name == "postgres":
        found["owner-password"] = read_or_create_secret(vault, "password-mailroom_owner")
    if identity.name == "jobs":
        found |= {f"password-{role}": read_or_create_secret(vault, f"password-{role}") for role in ROLES}
    if identity.name in WITH_TOKENS:
        key = hashlib.sha256(read_or_create_secret(vault, "token-key").encode()).digest()
        found["token-keys"] = f"first:{base64.b64encode(key).decode()}"
    found |= _list_blob_secrets(identity, vault)
    api_key = read_or_create_secret(vault, "api-key")
    if identity.name in WITH_API:
        found["api-keys"] = f"{TENANT}:admin:{hashlib.sha256(api_key.encode()).hexdigest()}"
    if identity.name in {"demo", "jobs"}:
        found["api-key"] = api_key
    return found


def _list_blob_secrets(identity: Identity, vault: Path) -> dict[str, str]:
    """The root user's key is the store's and the job's that says what each process may do (`allow_blobs.py`)."""
    root = [read_or_create_secret(vault, f"s3-{part}") for part in ("access-key", "secret-key")]
    if identity.name == "s3":
        users = {name: read_or_create_secret(vault, f"s3-secret-key-{name}") for name in WITH_BLOBS}
        accounts = {name: {"access": name, "secret": secret, "role": "user"} for name, secret in users.items()}
        return {
            "s3-access-key": root[0],
            "s3-secret-key": root[1],
            "users.json": json.dumps({"accessAccounts": accounts}),
        }
    if identity.name == "blob-access":
        return {"s3-credentials": _format_credentials(*root)}
    if identity.name in WITH_BLOBS:
        secret = read_or_create_secret(vault, f"s3-secret-key-{identity.name}")
        return {"s3-credentials": _format_credentials(identity.name, secret)}
    return {}


def _format_credentials(access: str, secret: str) -> str:
    return f"[default]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n"


def make_identity(identity: Identity, authority: Authority, folder: Path, vault: Path) -> None:
    files = {name: content.encode() for name, content in list_secrets(identity, vault).items()}
    if _needs_certificate(folder / "tls.crt"):
        chain, key = authority.issue_certificate(identity)
        files |= {"tls.key": key, "tls.crt": chain, "tls.pem": key + chain}  # together for Kafka
    files |= {
        "ca.pem": authority.pem,
        # Providers' certificates are checked against it, too.
        "bundle.pem": Path(certifi.where()).read_bytes() + authority.pem,
    }
    for name, content in files.items():
        file = folder / name
        if not file.exists() or file.read_bytes() != content:
            _write_file(file, content)
        os.chown(file, identity.owner, identity.owner)
    os.chown(folder, identity.owner, identity.owner)


def main(root: Path) -> None:
    vault = root / "vault"
    authority = Authority(vault)
    for identity in IDENTITIES:
        make_identity(identity, authority, root / identity.name, vault)
    print(f"{len(IDENTITIES)} identities are in place")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

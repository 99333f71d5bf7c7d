"""The signing keys of both identity providers, made once and kept with the state."""

import base64
import hashlib
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa


class SigningKey:
    def __init__(self, private: rsa.RSAPrivateKey, not_before: datetime) -> None:
        self._private = private
        self._not_before = not_before
        numbers = private.public_key().public_numbers()
        self._modulus = encode_number(numbers.n)
        self._exponent = encode_number(numbers.e)
        self.kid = hashlib.sha256(self._modulus.encode()).hexdigest()[:40]

    def sign_claims(self, claims: dict[str, object]) -> str:
        return jwt.encode(claims, self._private, algorithm="RS256", headers={"kid": self.kid})

    def public_jwk(self) -> dict[str, str]:
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid, "n": self._modulus, "e": self._exponent}

    def private_pem(self) -> str:
        return self._private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()

    def public_pem(self) -> str:
        return (
            self._private.public_key()
            .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
            .decode()
        )

    def certificate_pem(self) -> str:
        """Self-signed, as in Google's v1 list of certificates."""
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "federated-signon.sandbox.example")])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._private.public_key())
            .serial_number(int(self.kid[:16], 16) + 1)
            .not_valid_before(self._not_before)
            .not_valid_after(self._not_before + timedelta(days=3650))
            .sign(self._private, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM).decode()


def load_key(folder: Path, name: str) -> SigningKey:
    file = folder / f"{name}.pem"
    if not file.exists():
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        _write_private(file, SigningKey(private, datetime.now(UTC)).private_pem().encode())
    # Our own file: checking that its numbers are prime would take longer than all else at the start.
    loaded = serialization.load_pem_private_key(file.read_bytes(), None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(loaded, rsa.RSAPrivateKey):
        raise TypeError(f"{file} holds no RSA key")
    return SigningKey(loaded, datetime.fromtimestamp(int(file.stat().st_mtime), UTC))


def load_secret(folder: Path, name: str) -> bytes:
    file = folder / f"{name}.key"
    if not file.exists():
        _write_private(file, os.urandom(32))
    return file.read_bytes()


def _write_private(file: Path, content: bytes) -> None:
    """Whole or not at all: a process killed here must not leave half a key behind."""
    part = file.with_suffix(".part")
    part.write_bytes(content)
    part.chmod(0o600)
    part.replace(file)


def encode_number(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes((number.bit_length() + 7) // 8, "big")).decode().rstrip("=")

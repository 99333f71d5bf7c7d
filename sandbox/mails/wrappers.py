"""The ways in which documents are wrapped: MIME parts, zip, TNEF, S/MIME, a password."""

import base64
import hashlib
import io
import struct
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from quopri import encodestring
from unittest import mock

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs7
from pypdf import PdfReader, PdfWriter

CRLF = "\r\n"
_SIGNED_ON = datetime(2026, 1, 1, tzinfo=UTC)


def part(headers: Iterable[str], body: str) -> str:
    return CRLF.join(headers) + CRLF + CRLF + body


def text_part(body: str) -> str:
    return part(
        ["Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable"], _quoted(body)
    )


def html_part(body: str) -> str:
    return part(
        ["Content-Type: text/html; charset=utf-8", "Content-Transfer-Encoding: quoted-printable"], _quoted(body)
    )


def file_part(content: bytes, content_type: str, disposition: str | None, *more: str) -> str:
    headers = [f"Content-Type: {content_type}", "Content-Transfer-Encoding: base64"]
    if disposition:
        headers.append(f"Content-Disposition: {disposition}")
    return part([*headers, *more], base64_lines(content))


def named(filename: str) -> str:
    return f'attachment; filename="{filename}"'


def multipart(kind: str, boundary: str, parts: Sequence[str], *parameters: str) -> str:
    head = "; ".join([f"Content-Type: multipart/{kind}", *parameters, f'boundary="{boundary}"'])
    body = "".join(f"--{boundary}{CRLF}{one}{CRLF}" for one in parts)
    return head + CRLF + CRLF + body + f"--{boundary}--{CRLF}"


def base64_lines(content: bytes) -> str:
    return CRLF.join(base64.encodebytes(content).decode("ascii").splitlines())


def zipped(files: Sequence[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 2, 9, 0, 0)), content)
    return buffer.getvalue()


def tnef(name: str, content: bytes) -> bytes:
    """A winmail.dat with one attachment: signature, key, then level, id, length, value, checksum of each attribute."""

    def attribute(level: int, identity: int, value: bytes) -> bytes:
        return struct.pack("<BII", level, identity, len(value)) + value + struct.pack("<H", sum(value) & 0xFFFF)

    rendering = struct.pack("<HIHHI", 1, 0xFFFFFFFF, 0, 0, 0)
    return (
        struct.pack("<IH", 0x223E9F78, 1)
        + attribute(1, 0x00089006, struct.pack("<I", 0x00010000))
        + attribute(1, 0x00069007, struct.pack("<II", 1252, 0))
        + attribute(2, 0x00069002, rendering)
        + attribute(2, 0x00018010, name.encode("cp1252") + b"\0")
        + attribute(2, 0x0006800F, content)
    )


def applefile() -> bytes:
    """The resource fork of an appledouble pair, empty."""
    return struct.pack(">II16xH", 0x00051607, 0x00020000, 0)


def with_password(pdf: bytes, password: str) -> bytes:
    """RC4 and a file id that is not random: of all the ways, the one that gives the same bytes each time."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf)))
    buffer = io.BytesIO()
    with mock.patch("pypdf._writer.secrets.token_bytes", bytes):
        writer.encrypt(user_password=password, algorithm="RC4-128")
        writer.write(buffer)
    return buffer.getvalue()


def signed_detached(entity: bytes) -> bytes:
    return _signed(entity, [pkcs7.PKCS7Options.DetachedSignature])


def signed_opaque(entity: bytes) -> bytes:
    return _signed(entity, [])


def _signed(entity: bytes, options: list[pkcs7.PKCS7Options]) -> bytes:
    key, certificate = _signer()
    builder = pkcs7.PKCS7SignatureBuilder().set_data(entity).add_signer(certificate, key, hashes.SHA256())
    # Without attributes: one of them would be the time of day.
    options = [*options, pkcs7.PKCS7Options.Binary, pkcs7.PKCS7Options.NoAttributes]
    return builder.sign(serialization.Encoding.DER, options)


@lru_cache(maxsize=1)
def _signer() -> tuple[rsa.RSAPrivateKey, x509.Certificate]:
    """A key that anybody can compute: it signs samples and proves nothing."""
    p, q = _prime("mailroom sample p"), _prime("mailroom sample q")
    e = 65537
    d = pow(e, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    key = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public).private_key()
    who = x509.Name(
        [
            x509.NameAttribute(x509.NameOID.COMMON_NAME, "Sample Signer"),
            x509.NameAttribute(x509.NameOID.EMAIL_ADDRESS, "billing@rivelaine.example"),
        ]
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(_SIGNED_ON)
        .not_valid_after(_SIGNED_ON + timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    return key, certificate


def _prime(seed: str) -> int:
    """The next 1024-bit number after the seed's hash that passes Fermat's test to eight bases."""
    digest = b"".join(hashlib.sha512(f"{seed}{index}".encode()).digest() for index in range(2))
    candidate = int.from_bytes(digest, "big") | (3 << 1022) | 1
    while (candidate - 1) % 65537 == 0 or any(pow(base, candidate - 1, candidate) != 1 for base in range(2, 10)):
        candidate += 2
    return candidate


def _quoted(text: str) -> str:
    return encodestring(text.replace("\n", CRLF).encode()).decode("ascii").replace("\r\n", "\n").replace("\n", CRLF)

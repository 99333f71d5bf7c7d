"""S/MIME in one piece, and signed files (`invoice.pdf.p7m`): what was signed is taken out. No signature is verified.

Source: RFC 5652 5.1, RFC 8551 3.5.
"""

import base64
import binascii
import re
from typing import Any

from pyasn1.codec.ber import decoder
from pyasn1.error import PyAsn1Error
from pyasn1.type import namedtype, tag, univ
from pyasn1_modules import rfc5652

from mailroom_common.providers.untrusted_text import read_filename
from sync_engine.domain.content import HEAD_BYTES, ContentKind, detect_content_kind
from sync_engine.domain.parts import SkipReason
from sync_engine.readers.contained import (
    ContainedFile,
    ContainerProblem,
    NoContainer,
    OpenedContainer,
    UnreadableContainer,
)
from sync_engine.readers.mime import is_mime_entity, open_message

# PKCS #7 numbers its types: signed data is 2.
_TYPE = re.compile(rb"\x2a\x86\x48\x86\xf7\x0d\x01\x07(.)", re.DOTALL)
_TYPE_WITHIN_BYTES = 32
_ENCRYPTED_TYPES = (b"\x03", b"\x04", b"\x06")
_ARMOUR = re.compile(rb"\s*-----BEGIN [A-Z0-9 ]+-----(.*?)-----END", re.DOTALL)
_BASE64 = re.compile(rb"[A-Za-z0-9+/=\s]+")
_BOUNDARY = re.compile(rb"\s*--([^\r\n]{1,200})\r?\n")
_ONLY_FILE = "0"
_ENDING = ".p7m"


class _SignedContent(univ.Sequence):  # type: ignore[misc]  # pyasn1 has no types
    """`ContentInfo` of RFC 5652 whose content is signed data. Read in one go: pyasn1 gives an element of any type
    without the ends of what is in it, where lengths were left open."""

    componentType = namedtype.NamedTypes(  # noqa: N815  # pyasn1's name
        namedtype.NamedType("contentType", univ.ObjectIdentifier()),
        namedtype.NamedType(
            "content",
            rfc5652.SignedData().subtype(explicitTag=tag.Tag(tag.tagClassContext, tag.tagFormatConstructed, 0)),
        ),
    )


def open_smime(content: bytes, filename: str | None) -> OpenedContainer:
    content = _remove_armour(content)
    if detect_content_kind(content[:HEAD_BYTES]) is not ContentKind.CMS:
        # Exchange shows a mail that is signed beside its text as one file, with or without its headers.
        return open_message(_complete_headers(content))
    signed = _read_signed_content(content)
    if is_mime_entity(signed):
        return open_message(signed)
    name = filename[: -len(_ENDING)] if filename and filename.lower().endswith(_ENDING) else filename
    file = ContainedFile(position=_ONLY_FILE, filename=read_filename(name), read=lambda size: signed[:size])
    return OpenedContainer([file])


def _remove_armour(content: bytes) -> bytes:
    armoured = _ARMOUR.match(content)
    text = armoured[1] if armoured else content
    if armoured or _BASE64.fullmatch(text):
        try:
            return base64.b64decode(text)
        except binascii.Error:
            return content
    return content


def _complete_headers(content: bytes) -> bytes:
    if is_mime_entity(content):
        return content
    boundary = _BOUNDARY.match(content)
    if boundary is None:
        raise UnreadableContainer(ContainerProblem.BROKEN)
    return b'Content-Type: multipart/signed; boundary="' + boundary[1].replace(b'"', b"") + b'"\r\n\r\n' + content


def _read_signed_content(content: bytes) -> bytes:
    """Raises NoContainer where the signature is of something that lies elsewhere."""
    kind = _TYPE.search(content[:_TYPE_WITHIN_BYTES])
    if kind and kind[1] in _ENCRYPTED_TYPES:
        raise UnreadableContainer(ContainerProblem.ENCRYPTED)
    signed = _decode(content)["content"]["encapContentInfo"]["eContent"]
    if not signed.isValue:
        raise NoContainer(SkipReason.SIGNATURE)
    return bytes(signed)


def _decode(content: bytes) -> Any:  # Any: pyasn1 has no types
    try:
        return decoder.decode(content, asn1Spec=_SignedContent())[0]
    except (PyAsn1Error, ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError) as error:
        raise UnreadableContainer(ContainerProblem.BROKEN) from error

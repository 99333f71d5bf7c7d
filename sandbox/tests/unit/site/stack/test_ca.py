import ssl
from pathlib import Path

from mailroom_sandbox.site.stack.ca import load_or_create_certificates


def test_authority_is_made_once_and_its_key_is_thrown_away(tmp_path: Path) -> None:
    first = load_or_create_certificates(tmp_path / "tls")
    bundle, server = first.bundle.read_bytes(), first.server.read_bytes()
    assert load_or_create_certificates(tmp_path / "tls") == first
    assert (first.bundle.read_bytes(), first.server.read_bytes()) == (bundle, server)
    assert first.server.stat().st_mode & 0o777 == 0o600
    assert b"PRIVATE KEY" not in bundle


def test_half_made_certificates_are_made_anew(tmp_path: Path) -> None:
    certificates = load_or_create_certificates(tmp_path)
    certificates.bundle.unlink()
    certificates.server.write_text("half")
    load_or_create_certificates(tmp_path).build_server_ssl_context()


def test_client_trusts_nobody_else(tmp_path: Path) -> None:
    context = load_or_create_certificates(tmp_path).client_context()
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == 1

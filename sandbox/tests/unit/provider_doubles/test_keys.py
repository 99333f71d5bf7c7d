from pathlib import Path

import jwt

from mailroom_sandbox.provider_doubles.keys import load_key, load_secret


def test_key_is_made_once_is_private_and_signs_what_its_public_half_proves(tmp_path: Path) -> None:
    first, again = load_key(tmp_path, "signing"), load_key(tmp_path, "signing")
    assert first.kid == again.kid != load_key(tmp_path, "another").kid
    assert (tmp_path / "signing.pem").stat().st_mode & 0o777 == 0o600
    token = first.sign_claims({"aud": "test"})
    assert jwt.get_unverified_header(token)["kid"] == first.kid
    assert jwt.decode(token, jwt.PyJWK(again.public_jwk()).key, algorithms=["RS256"], audience="test")["aud"] == "test"
    assert again.certificate_pem() == first.certificate_pem()


def test_secret_is_made_once(tmp_path: Path) -> None:
    assert load_secret(tmp_path, "seal") == load_secret(tmp_path, "seal") != load_secret(tmp_path, "another")

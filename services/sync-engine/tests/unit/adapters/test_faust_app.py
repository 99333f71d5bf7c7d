"""Faust gets the same security as our other clients, in its own types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trustme
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth
from pydantic import SecretStr

from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from sync_engine.adapters.faust_app import build_credentials


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT", "SSL", "PLAINTEXT"])
def test_every_way_to_connect_is_passed_on(tmp_path: Path, protocol: str, mechanism: str) -> None:
    ca = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(ca)
    security = KafkaSecurity(protocol, mechanism, "user", SecretStr("password"), ca=ca)  # type: ignore[arg-type]
    given = credentials_to_aiokafka_auth(build_credentials(security))
    assert comparable(given) == comparable(security.build_client_options())


def comparable(options: Mapping[str, Any]) -> dict[str, Any]:
    """Two contexts are never equal."""
    context = options.get("ssl_context")
    return {**options, "ssl_context": context and context.get_ca_certs()}


def test_nothing_is_asked_on_loopback() -> None:
    assert build_credentials(UNSECURED) is None

"""Kafka's side of a secured site: TLS and a password on every listener, and nothing allowed that no ACL allows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from pydantic import SecretStr

from mailroom_common.kafka.security import UNSECURED, KafkaSecurity, SASLMechanism
from mailroom_common.topic_access import COMPONENTS
from mailroom_sandbox.site.stack.ca import Certificates
from mailroom_sandbox.site.stack.home import Home

BROKER = "kafka"  # the broker towards its own controller
ADMIN = "mailroom-admin"  # whoever creates topics and ACLs
# Its users are in the broker's settings; those of SCRAM are in its data, and would be fixed when that is formatted.
_MECHANISM: SASLMechanism = "PLAIN"


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """What a client needs to connect to the Kafka that was started here."""

    kafka_bootstrap: str
    kafka_security: KafkaSecurity = UNSECURED


@dataclass(frozen=True, slots=True)
class BrokerSecurity:
    """`keystore` is key and chain, `authorities` what clients trust; `passwords` are by user, broker and admin too."""

    keystore: Path
    authorities: Path
    passwords: Mapping[str, str]

    def build_client_security(self, user: str) -> KafkaSecurity:
        return KafkaSecurity("SASL_SSL", _MECHANISM, user, SecretStr(self.passwords[user]), ca=self.authorities)

    def build_client_environment(self, user: str) -> dict[str, str]:
        """The same as `build_client_security`, as settings of a process."""
        return {
            "MAILROOM_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "MAILROOM_KAFKA_SASL_MECHANISM": _MECHANISM,
            "MAILROOM_KAFKA_USERNAME": user,
            "MAILROOM_KAFKA_PASSWORD": self.passwords[user],
            "MAILROOM_KAFKA_CA": str(self.authorities),
        }

    def build_broker_settings(self) -> dict[str, str]:
        stores = {
            f"ssl.{kind}.{name}": value
            for kind, file in (("keystore", self.keystore), ("truststore", self.authorities))
            for name, value in (("type", "PEM"), ("location", str(file)))
        }
        return {
            "listener.security.protocol.map": "CLIENTS:SASL_SSL,CONTROLLER:SASL_SSL",
            "sasl.enabled.mechanisms": _MECHANISM,
            "sasl.mechanism.inter.broker.protocol": _MECHANISM,
            "sasl.mechanism.controller.protocol": _MECHANISM,
            "listener.name.clients.plain.sasl.jaas.config": self._build_login(*self.passwords),
            "listener.name.controller.plain.sasl.jaas.config": self._build_login(BROKER),
            **stores,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{BROKER};User:{ADMIN}",
        }

    def _build_login(self, *users: str) -> str:
        known = " ".join(f'user_{user}="{self.passwords[user]}"' for user in users)
        return (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="{BROKER}" password="{self.passwords[BROKER]}" {known};'
        )


def prepare_broker_security(home: Home, certificates: Certificates) -> BrokerSecurity:
    """As `find_broker_security`; the caller holds the lock, and starts the broker."""
    security = find_broker_security(home, certificates)
    _write_keystore(certificates.server, security.keystore)
    return security


def find_broker_security(home: Home, certificates: Certificates) -> BrokerSecurity:
    """A password for each process, kept with the state, and the site's certificate in the form that Kafka reads."""
    users = [BROKER, ADMIN, *(component.default_user for component in COMPONENTS)]
    passwords = {user: home.read_or_create_secret(f"kafka_password_{user}") for user in users}
    return BrokerSecurity(home.tls / "kafka.pem", certificates.bundle, passwords)


def _write_keystore(server: Path, target: Path) -> None:
    """Kafka reads keys in PKCS 8 only."""
    content = server.read_bytes()
    key = serialization.load_pem_private_key(content, password=None)
    chain = content[content.index(b"-----BEGIN CERTIFICATE-----") :]
    target.touch(mode=0o600)
    target.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + chain
    )

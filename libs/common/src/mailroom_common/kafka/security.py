"""How our Kafka clients prove who they are, and how they know the brokers: TLS, SASL and client certificates."""

import ssl
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr

from mailroom_common.transport_security import is_loopback

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SASLMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@dataclass(frozen=True, slots=True)
class KafkaSecurity:
    """What each client is given. `ca` None trusts the system's authorities; `cert` and `key` are the client's own."""

    protocol: SecurityProtocol = "PLAINTEXT"
    mechanism: SASLMechanism | None = None
    username: str | None = None
    password: SecretStr | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @property
    def has_tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def build_ssl_context(self) -> ssl.SSLContext | None:
        """Names and chains are always verified. Read for each client anew: files may have been renewed meanwhile.

        Raises:
            OSError: a file cannot be read, or holds no certificate or key (`ssl.SSLError`).
        """
        if not self.has_tls:
            return None
        context = ssl.create_default_context(cafile=None if self.ca is None else str(self.ca))
        if self.cert is not None:
            context.load_cert_chain(self.cert, self.key, password=_refuse_encrypted_key)
        return context

    def build_client_options(self) -> dict[str, Any]:  # Any: keyword arguments of aiokafka, which has no types
        options: dict[str, Any] = {"security_protocol": self.protocol, "ssl_context": self.build_ssl_context()}
        if self.has_sasl:
            options |= {
                "sasl_mechanism": self.mechanism,
                "sasl_plain_username": self.username,
                "sasl_plain_password": self.password.get_secret_value() if self.password else None,
            }
        return options


# What a test or a benchmark on loopback is given.
UNSECURED = KafkaSecurity()


def find_security_mistakes(
    security: KafkaSecurity, bootstrap: str | None, is_insecure_allowed: bool, wrong: Set[str] = frozenset()
) -> list[str]:
    """A sentence for each variable that is missing, needless, or names a file that is of no use.

    `wrong` are the attributes of `security` whose settings are wrong by themselves, and `bootstrap` is None where that
    one is: nothing is said that would follow from them.
    """
    if "protocol" in wrong:
        return []
    mistakes = [*_find_sasl_mistakes(security, wrong), *_find_tls_mistakes(security)]
    is_open = not security.has_tls and not is_insecure_allowed
    if is_open and bootstrap is not None and not _is_on_loopback(bootstrap):
        mistakes.append(
            f"MAILROOM_KAFKA_SECURITY_PROTOCOL={security.protocol} is not encrypted, and MAILROOM_KAFKA_BOOTSTRAP "
            "names brokers beyond this machine: set SASL_SSL or SSL, or MAILROOM_INSECURE=1 to go on without."
        )
    return mistakes or _try_files(security)


def _find_sasl_mistakes(security: KafkaSecurity, wrong: Set[str]) -> Iterator[str]:
    given = {
        "mechanism": ("SASL_MECHANISM", security.mechanism is not None),
        "username": ("USERNAME", security.username is not None),
        "password": ("PASSWORD", security.password is not None),
    }
    for attribute, (name, is_set) in given.items():
        if attribute in wrong:
            continue
        if security.has_sasl and not is_set:
            yield f"MAILROOM_KAFKA_{name} is not set: {security.protocol} needs it."
        if is_set and not security.has_sasl:
            protocols = "SASL_SSL" if security.has_tls else "SASL_SSL or SASL_PLAINTEXT"
            yield (
                f"MAILROOM_KAFKA_{name} is set, but MAILROOM_KAFKA_SECURITY_PROTOCOL={security.protocol} does not use "
                f"it: set {protocols}, or leave it out."
            )


def _find_tls_mistakes(security: KafkaSecurity) -> Iterator[str]:
    for name, file in {"CA": security.ca, "CERT": security.cert, "KEY": security.key}.items():
        if file is None:
            continue
        if not security.has_tls:
            yield (
                f"MAILROOM_KAFKA_{name} is set, but MAILROOM_KAFKA_SECURITY_PROTOCOL={security.protocol} has no TLS: "
                "set SASL_SSL or SSL, or leave it out."
            )
        elif not file.is_file():
            yield f"MAILROOM_KAFKA_{name} is wrong: there is no such file."
    if security.cert is not None and security.key is None:
        yield "MAILROOM_KAFKA_KEY is not set: MAILROOM_KAFKA_CERT needs its private key."
    if security.key is not None and security.cert is None:
        yield "MAILROOM_KAFKA_CERT is not set: MAILROOM_KAFKA_KEY is of no use without its certificate."


def _try_files(security: KafkaSecurity) -> list[str]:
    """Whether TLS can be begun with the files; each is tried alone, so that the one at fault is named."""
    try:
        replace(security, cert=None, key=None).build_ssl_context()
    except OSError:
        return ["MAILROOM_KAFKA_CA is wrong: the file holds no certificates in PEM that can be read."]
    try:
        security.build_ssl_context()
    except OSError as error:
        reason = getattr(error, "reason", None) or error.strerror or str(error)
        needed = "a certificate in PEM and its own private key, not encrypted, are needed"
        return [f"MAILROOM_KAFKA_CERT and MAILROOM_KAFKA_KEY are of no use: {needed} ({reason})."]
    return []


def _is_on_loopback(bootstrap: str) -> bool:
    return all(is_loopback(broker.strip().rpartition(":")[0]) for broker in bootstrap.split(","))


def _refuse_encrypted_key() -> str:
    # OpenSSL would ask for the password at the terminal, where nobody answers.
    raise OSError("the private key is encrypted")

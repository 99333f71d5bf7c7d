"""Where the chart takes each environment variable from: a value, a key of a Secret, or a mounted file.

What is in none of these tables, and no secret, can be set in `components.<component>.settings`.
"""

from dataclasses import dataclass

from chart_source.components import Component, is_secret

# From a value, by its path.
CONFIG = {
    "MAILROOM_GOOGLE_CLIENT_ID": "providers.gmail.clientId",
    "MAILROOM_HEALTH_PORT": "healthPort",
    "MAILROOM_HTTPS_PROXY": "httpsProxy",
    "MAILROOM_INSECURE": "insecure",
    "MAILROOM_KAFKA_BOOTSTRAP": "kafka.bootstrapServers",
    "MAILROOM_KAFKA_REPLICATION": "kafka.replication",
    "MAILROOM_KAFKA_SASL_MECHANISM": "kafka.sasl.mechanism",
    "MAILROOM_KAFKA_SECURITY_PROTOCOL": "kafka.securityProtocol",
    "MAILROOM_KAFKA_USERNAME": "kafka.sasl.username",
    "MAILROOM_LLM_API": "languageModel.api",
    "MAILROOM_LLM_MODEL": "languageModel.model",
    "MAILROOM_LLM_URL": "languageModel.url",
    "MAILROOM_LLM_USE": "languageModel.use",
    "MAILROOM_LOG_LEVEL": "logLevel",
    "MAILROOM_MICROSOFT_CLIENT_ID": "providers.outlook.clientId",
    "MAILROOM_BLOB_URL": "objectStorage.url",
    "MAILROOM_PUBLIC_URL": "publicURL",
    "MAILROOM_PUBSUB_AUDIENCE": "providers.gmail.pubsub.audience",
    "MAILROOM_PUBSUB_SERVICE_ACCOUNT": "providers.gmail.pubsub.serviceAccount",
    "MAILROOM_PUBSUB_SUBSCRIPTION": "providers.gmail.pubsub.subscription",
    "MAILROOM_PUBSUB_TOPIC": "providers.gmail.pubsub.topic",
    "MAILROOM_TENANTS": "api.tenants",
    "MAILROOM_TOKEN_STORE": "tokens.store",
    "MAILROOM_TOPIC_PREFIX": "kafka.topicPrefix",
    "MAILROOM_TRUSTED_PROXIES": "trustedProxies",
    "MAILROOM_WEBHOOK_URL": "webhookURL",
}
# The template knows these without a value.
FIXED = frozenset({"MAILROOM_HTTP_HOST", "MAILROOM_HTTP_PORT", "MAILROOM_INSTANCE_ID"})


@dataclass(frozen=True, slots=True)
class SecretSource:
    """Paths of the values that name the Secret and its key."""

    secret: str
    key: str


def _same_block(path: str) -> SecretSource:
    return SecretSource(f"{path}.existingSecret", f"{path}.key")


# Mounted as a file, whose path `NAME_FILE` holds.
SECRETS = {
    "MAILROOM_API_KEYS": _same_block("api.keys"),
    "MAILROOM_DATABASE_URL": SecretSource("database.existingSecret", "database.urlKey"),
    "MAILROOM_GOOGLE_CLIENT_SECRET": _same_block("providers.gmail.clientSecret"),
    "MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY": _same_block("providers.gmail.serviceAccountKey"),
    "MAILROOM_KAFKA_PASSWORD": SecretSource("kafka.sasl.existingSecret", "kafka.sasl.passwordKey"),
    "MAILROOM_LLM_KEY": _same_block("languageModel.key"),
    "MAILROOM_MICROSOFT_CLIENT_SECRET": _same_block("providers.outlook.clientSecret"),
    "MAILROOM_PUBSUB_TOKEN": _same_block("providers.gmail.pubsub.token"),
    "MAILROOM_TOKEN_DATABASE_URL": SecretSource("database.existingSecret", "database.tokenUrlKey"),
    "MAILROOM_TOKEN_KEYS": _same_block("tokens.keys"),
}
# Mounted as a file, whose path the variable itself holds.
FILES = {
    "MAILROOM_CA_BUNDLE": SecretSource("caBundle.existingSecret", "caBundle.key"),
    "MAILROOM_KAFKA_CA": SecretSource("kafka.tls.existingSecret", "kafka.tls.caKey"),
    "MAILROOM_KAFKA_CERT": SecretSource("kafka.tls.clientSecret", "kafka.tls.certKey"),
    "MAILROOM_KAFKA_KEY": SecretSource("kafka.tls.clientSecret", "kafka.tls.keyKey"),
}


def list_further_settings(component: Component) -> list[str]:
    """What `components.<component>.settings` may hold."""
    taken = {*CONFIG, *FIXED, *SECRETS, *FILES}
    return [name for name, info in component.variables().items() if name not in taken and not is_secret(info)]


def find_secrets_without_source(component: Component) -> list[str]:
    return [name for name in component.secret_variables() if name not in {*SECRETS, *FILES}]

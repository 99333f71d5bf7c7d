"""The chart as an operator installs it: Secrets and values of this site, `helm install --wait`, upgrade, rollback."""

import base64
import hashlib
import json
import os
import secrets
import subprocess
from collections.abc import Mapping
from typing import Any

from mailroom_cluster import outside
from mailroom_cluster.kafka_brokers import BOOTSTRAP, MECHANISM
from mailroom_cluster.kubernetes import Kubernetes
from mailroom_cluster.manifests import Object, build_config_map, build_secret
from mailroom_cluster.places import CHECKOUT, NODE_IP, Places
from mailroom_cluster.postgres_server import PostgresServer

NAMESPACE = "mailroom"
RELEASE = "mailroom"
TENANT = "cluster-test"
BUCKET = "mailroom"
CHART = CHECKOUT / "deploy" / "helm" / "mailroom"
_HELM = CHECKOUT / ".venv" / "tools" / "helm3"
_TOPICS_USER = "mailroom-topics"
# Component by its key in the chart's values, with the paths that an ingress sends to it.
COMPONENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "webhookGateway": ("webhook-gateway", ("/webhooks", "/api/graph")),
    "subscriptionManager": ("subscription-manager", ("/oauth", "/doc-sources")),
    "ingestionApi": ("ingestion-api", ("/documents",)),
    "syncEngineApi": ("sync-engine-api", ("/messages", "/sync-runs", "/sync-states", "/parked-items", "/mail-events")),
    "syncEngineCoalescer": ("sync-engine-coalescer", ()),
    "syncEngineWorker": ("sync-engine-worker", ()),
    "ingestionWorker": ("ingestion-worker", ()),
}
GATEWAY = "webhook-gateway"
WORKERS = ("sync-engine-worker", "ingestion-worker")
_STATEFUL = set(WORKERS)
_CALLED_BY_KAFKA = ("webhook-gateway", "subscription-manager", "sync-engine-coalescer", *WORKERS)
KAFKA_USERS = (*(f"mailroom-{component}" for component in _CALLED_BY_KAFKA), _TOPICS_USER)
KAFKA_SUPERUSERS = (_TOPICS_USER,)
DATABASE_ROLES = ("subscription-manager", "sync-engine", "ingestion")
_INSTALL_S = 900
_TEST_S = 300


class Release:
    """`tag` and `workers` are what the next `apply` installs."""

    def __init__(self, places: Places, kubernetes: Kubernetes, variables: Mapping[str, str]) -> None:
        self.api_key = secrets.token_urlsafe(24)
        self.workers = 1
        self._places = places
        self._kubernetes = kubernetes
        self._variables = dict(variables)
        self._role_passwords = {role: secrets.token_urlsafe(24) for role in DATABASE_ROLES}

    def create_roles(self) -> None:
        """By the administrator of the database, who is not the one that migrates nor any service."""
        for role, password in self._role_passwords.items():
            statement = f"create role \"{_role_name(role)}\" login password '{password}'"
            command = ["psql", "-h", "/tmp", "-U", "mailroom_owner", "-d", "mailroom", "-v", "ON_ERROR_STOP=1", "-c"]  # noqa: S108 # the pod's own
            self._kubernetes.kubectl("exec", "-n", "backends", "postgres-0", "--", *command, statement)

    def build_prerequisites(
        self, kafka_passwords: Mapping[str, str], postgres: PostgresServer, authority_pem: str
    ) -> list[Object]:
        """The Secrets that the chart refers to and does not make."""
        urls = {
            f"{role}-url": postgres.build_url(_role_name(role), word) for role, word in self._role_passwords.items()
        }
        digest = hashlib.sha256(self.api_key.encode()).hexdigest()
        token_key = base64.b64encode(secrets.token_bytes(32)).decode()
        values = self._variables
        store = {
            "access-key-id": outside.STORE_CREDENTIALS["aws_access_key_id"],
            "secret-access-key": outside.STORE_CREDENTIALS["aws_secret_access_key"],
        }
        return [
            build_config_map(NAMESPACE, "authorities", {"ca.crt": authority_pem}),
            build_secret(NAMESPACE, "kafka-authority", {"ca.crt": authority_pem}),
            *(build_secret(NAMESPACE, user, {"password": kafka_passwords[user]}) for user in KAFKA_USERS),
            build_secret(NAMESPACE, "mailroom-database", {**urls, "owner-url": postgres.owner_url}),
            build_secret(NAMESPACE, "mailroom-tokens", {"token-keys": f"test:{token_key}"}),
            build_secret(NAMESPACE, "mailroom-api", {"api-keys": f"{TENANT}:admin:{digest}"}),
            build_secret(NAMESPACE, "object-store", store),
            build_secret(NAMESPACE, "outlook", {"client-secret": values["MAILROOM_MICROSOFT_CLIENT_SECRET"]}),
            build_secret(NAMESPACE, "gmail", {"client-secret": values["MAILROOM_GOOGLE_CLIENT_SECRET"]}),
            build_secret(NAMESPACE, "pubsub", {"pubsub-token": values["MAILROOM_PUBSUB_TOKEN"]}),
        ]

    def apply(self, tag: str) -> None:
        """Installs or upgrades, and returns when everything is ready.

        Raises:
            RuntimeError: Helm failed; the text is its own.
        """
        values = self._places.state / "values.json"
        values.write_text(json.dumps(self._build_values(tag)))
        self.run_helm(
            "upgrade", "--install", RELEASE, str(CHART), "-f", str(values), "--wait", f"--timeout={_INSTALL_S}s"
        )

    def test(self) -> None:
        """A handshake and a synthetic notification, by the chart's own pod.

        Raises:
            RuntimeError: a check failed; the text names it.
        """
        self.run_helm("test", RELEASE, "--logs", f"--timeout={_TEST_S}s")

    def roll_back(self, revision: int) -> None:
        self.run_helm("rollback", RELEASE, str(revision), "--wait", f"--timeout={_INSTALL_S}s")

    def find_revision(self) -> int:
        return int(json.loads(self.run_helm("status", RELEASE, "-o", "json"))["version"])

    def run_helm(self, *arguments: str) -> str:
        environment = {**os.environ, "KUBECONFIG": str(self._kubernetes.kubeconfig)}
        command = [str(_HELM), "-n", NAMESPACE, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"helm {' '.join(arguments[:2])}: {done.stderr.strip()}\n{done.stdout.strip()[-2000:]}")
        return done.stdout

    def read_routes(self) -> dict[str, str]:
        """Path prefix to the address of the Service behind it."""
        routes: dict[str, str] = {}
        for component, paths in COMPONENTS.values():
            if paths:
                service = self._kubernetes.get_json("service", "-n", NAMESPACE, object_name(component))
                url = f"http://{service['spec']['clusterIP']}:{service['spec']['ports'][0]['port']}"
                routes |= dict.fromkeys(paths, url)
        return routes

    def wait_until_rolled_out(self, component: str) -> None:
        self._kubernetes.kubectl(
            "rollout", "status", "-n", NAMESPACE, describe_workload(component), f"--timeout={_INSTALL_S}s"
        )

    def _build_values(self, tag: str) -> dict[str, Any]:  # Any: values of a chart
        variables = self._variables
        own = ("MICROSOFT_AUTHORITY", "GRAPH_URL", "GOOGLE_AUTHORIZE_URL", "GOOGLE_TOKEN_URL", "GOOGLE_CERTS_URL")
        names = [f"MAILROOM_{name}" for name in (*own, "GMAIL_URL")]
        workers = {"replicas": self.workers}
        return {
            "image": {"registry": "localhost", "repository": "mailroom/{service}", "tag": tag, "pullPolicy": "Never"},
            "publicURL": outside.PUBLIC_URL,
            "trustedProxies": f"{NODE_IP},10.244.0.1",
            "caBundle": {"existingConfigMap": "authorities"},
            "kafka": {
                "bootstrapServers": BOOTSTRAP,
                "tls": {"existingSecret": "kafka-authority"},
                "sasl": {"mechanism": MECHANISM},
            },
            "objectStorage": {
                "url": f"s3://{BUCKET}/site",
                "endpoint": outside.OBJECT_STORE_URL,
                "region": outside.STORE_CREDENTIALS["region_name"],
                "existingSecret": "object-store",
            },
            "providers": {
                "outlook": {
                    "clientId": variables["MAILROOM_MICROSOFT_CLIENT_ID"],
                    "clientSecret": {"existingSecret": "outlook"},
                },
                "gmail": {
                    "clientId": variables["MAILROOM_GOOGLE_CLIENT_ID"],
                    "clientSecret": {"existingSecret": "gmail"},
                    "pubsub": {
                        "topic": variables["MAILROOM_PUBSUB_TOPIC"],
                        "subscription": variables["MAILROOM_PUBSUB_SUBSCRIPTION"],
                        "audience": variables["MAILROOM_PUBSUB_AUDIENCE"],
                        "serviceAccount": variables["MAILROOM_PUBSUB_SERVICE_ACCOUNT"],
                        "token": {"existingSecret": "pubsub"},
                    },
                },
            },
            "migrations": {"args": ["migrate", "--grant-roles"], "topicsArgs": ["topics", "apply", "--acls"]},
            "defaults": {
                "replicas": 1,
                # All requests have to fit into two processors, with four workers of each kind. They decide who waits:
                # the gateway last, since providers count its late answers.
                "resources": {"requests": {"cpu": "25m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
                "probes": {"startup": {"failureThreshold": 150}},
                "extraEnv": [
                    *({"name": name, "value": variables[name]} for name in names),
                    {"name": "AWS_CA_BUNDLE", "value": "/etc/mailroom/authorities/ca.crt"},
                ],
                "extraVolumes": [{"name": "authorities", "configMap": {"name": "authorities"}}],
                "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/mailroom/authorities"}],
            },
            "components": {
                "webhookGateway": {"replicas": 2, "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}}},
                "syncEngineWorker": {**workers, "resources": {"requests": {"cpu": "75m", "memory": "64Mi"}}},
                "ingestionWorker": {**workers, "resources": {"requests": {"cpu": "75m", "memory": "64Mi"}}},
            },
        }


def object_name(component: str) -> str:
    return f"{RELEASE}-{component}"


def describe_workload(component: str) -> str:
    kind = "statefulset" if component in _STATEFUL else "deployment"
    return f"{kind}/{object_name(component)}"


def _role_name(role: str) -> str:
    return f"mailroom_{role.replace('-', '_')}"

"""What is outside of the cluster: the sandbox's providers, an object store, and the ingress that providers call."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from mailroom_cluster.certificates import CertificateAuthority
from mailroom_cluster.namespaces import prefer_process
from mailroom_cluster.places import NODE_IP, Places
from mailroom_sandbox.provider_doubles.endpoints import ProviderEndpoints, mailroom_environment
from mailroom_sandbox.provider_doubles.settings import ProvidersSettings

INGRESS_PORT = 8443
PUBLIC_URL = f"https://{NODE_IP}:{INGRESS_PORT}"
OBJECT_STORE_PORT = 9000
OBJECT_STORE_URL = f"https://{NODE_IP}:{OBJECT_STORE_PORT}"
_START_S = 180


class Outside:
    """Each is a process with a log; they end with the namespaces at the latest."""

    def __init__(self, places: Places, authority: CertificateAuthority) -> None:
        self.pushes = places.state / "pushes.jsonl"
        self._places = places
        self._authority = authority
        self._processes: list[subprocess.Popen[bytes]] = []
        self._fields: dict[str, object] = {
            "state": places.state / "providers",
            "host": NODE_IP,
            "tls_certificate": authority.outside,
            "tls_key": authority.outside,
            "ca_bundle": authority.bundle,
            "redirect_uris": f"{PUBLIC_URL}/oauth/outlook/callback,{PUBLIC_URL}/oauth/gmail/callback",
            "pubsub_push_url": f"{PUBLIC_URL}/webhooks/gmail",
            "pubsub_token": secrets.token_urlsafe(24),
            "pubsub_service_account": "gmail-push@mailroom-sandbox.iam.gserviceaccount.com",
            # The default pauses of a push that was refused would outlast the run.
            "notification_retry_base_s": 1.0,
        }

    @property
    def provider_settings(self) -> ProvidersSettings:
        return ProvidersSettings.model_validate(self._fields)

    @property
    def control_url(self) -> str:
        return ProviderEndpoints.from_settings(self.provider_settings).control_url

    def build_service_variables(self) -> dict[str, str]:
        return mailroom_environment(self.provider_settings)

    def start_providers(self) -> None:
        variables = {f"MAILROOM_SANDBOX_{name.upper()}": str(value) for name, value in self._fields.items()}
        self._start("providers", ["-m", "mailroom_sandbox.provider_doubles"], variables)
        _wait_for_port(self.provider_settings.control_port)

    def start_object_store(self) -> None:
        certificate = ["-c", str(self._authority.outside), "-k", str(self._authority.outside)]
        self._start(
            "object-store", ["-m", "moto.server", "-H", NODE_IP, "-p", str(OBJECT_STORE_PORT), *certificate], {}
        )
        _wait_for_port(OBJECT_STORE_PORT)

    def start_ingress(self, routes: Mapping[str, str]) -> None:
        """`routes` is a path prefix to the address of a Service."""
        settings = self._places.state / "ingress.json"
        self.pushes.touch()
        given = {"port": INGRESS_PORT, "certificate": str(self._authority.outside), "routes": dict(routes)}
        settings.write_text(json.dumps({**given, "pushes": str(self.pushes)}))
        self._start("ingress", ["-m", "mailroom_cluster.ingress", str(settings)], {})
        prefer_process(self._processes[-1].pid)  # it measures how long the others take
        _wait_for_port(INGRESS_PORT)

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def _start(self, name: str, arguments: list[str], variables: Mapping[str, str]) -> None:
        with (self._places.logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *arguments], env={**os.environ, **variables}, stdout=log, stderr=log
            )
        self._processes.append(process)


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            socket.create_connection((NODE_IP, port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def create_bucket(name: str, authority: Path) -> None:
    """In the object store, which starts empty."""
    import boto3  # type: ignore[import-untyped] # imported here: half a second that nothing else needs

    client = boto3.client("s3", endpoint_url=OBJECT_STORE_URL, verify=str(authority), **STORE_CREDENTIALS)
    client.create_bucket(Bucket=name)


STORE_CREDENTIALS = {
    "aws_access_key_id": "cluster-test",
    "aws_secret_access_key": "cluster-test-secret",
    "region_name": "us-east-1",
}

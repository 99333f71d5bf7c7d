"""The whole site in the cluster: servers beside it, the outside, the chart, and mailboxes that are connected."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mail_ledger.mail_flow import Mailbox

from mailroom_cluster import kafka_brokers, outside, release, site_images
from mailroom_cluster.certificates import CertificateAuthority
from mailroom_cluster.kafka_brokers import KafkaBrokers
from mailroom_cluster.kubernetes import Kubernetes
from mailroom_cluster.manifests import build_namespace
from mailroom_cluster.outside import Outside
from mailroom_cluster.places import Places
from mailroom_cluster.postgres_server import PostgresServer
from mailroom_cluster.release import Release
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected

_MAILBOXES = [("outlook", f"ap-{number}@outlook.test") for number in range(3)]
_MAILBOXES += [("gmail", f"ap-{number}@gmail.test") for number in range(3)]
_READY_S = 600


@dataclass(slots=True)
class ClusterSite:
    """What the test drives; `took_s` is how long each step of the start took."""

    places: Places
    kubernetes: Kubernetes
    outside: Outside
    release: Release
    authority: CertificateAuthority
    took_s: dict[str, float]

    @classmethod
    def create(cls, places: Places) -> "ClusterSite":
        authority = CertificateAuthority(places.state / "certificates")
        around = Outside(places, authority)
        kubernetes = Kubernetes(places)
        made = Release(places, kubernetes, around.build_service_variables())
        return cls(places, kubernetes, around, made, authority, {})

    def start(self, archives: Sequence[Path]) -> None:
        """Blocks until the chart is installed and the ingress forwards to it."""
        with self._step("Kubernetes"):
            self.kubernetes.start()
        with self._step("images"):
            for archive in archives:
                self.kubernetes.import_image(archive)
        with self._step("Kafka, Postgres, providers and object store"):
            self._start_servers()
        with self._step("helm install"):
            self.release.apply(site_images.TAG)
        with self._step("helm test"):
            self.release.test()
        self.outside.start_ingress(self.release.read_routes())

    async def connect_mailboxes(self, control: ControlClient, api: MailroomAPI) -> list[Mailbox]:
        connected = []
        trusted = self.authority.build_client_context()
        for provider, address in _MAILBOXES:
            await control.find_or_create_mailbox(provider, address)
            source = await ensure_mailbox_connected(api, provider, address, trusted)
            connected.append(Mailbox(provider, address, source))
        return connected

    def save_logs(self) -> None:
        """What a failure is found by: the state of all pods, and the logs of ours and of the servers."""
        wide = self.kubernetes.kubectl("get", "pods,events", "-A", "-o", "wide", check=False)
        (self.places.logs / "objects.txt").write_text(wide)
        pods = Path("/var/log/pods")
        for log in pods.glob("*/*/*.log"):
            namespace, pod, _ = log.parts[-3].split("_")
            shutil.copy(log, self.places.logs / f"{namespace}.{pod}.{log.parent.name}.{log.name}")

    def stop(self) -> None:
        self.outside.stop()
        self.kubernetes.stop()

    def _start_servers(self) -> None:
        self.outside.start_providers()
        self.outside.start_object_store()
        outside.create_bucket(release.BUCKET, self.authority.bundle)
        data = self.places.state / "data"
        kafka = KafkaBrokers(release.KAFKA_USERS, release.KAFKA_SUPERUSERS, data / "kafka", self.authority)
        postgres = PostgresServer(data / "postgres", self.authority)
        namespaces = [build_namespace(name) for name in (kafka_brokers.NAMESPACE, release.NAMESPACE)]
        self.kubernetes.apply(namespaces)
        needed = self.release.build_prerequisites(kafka.passwords, postgres, self.authority.bundle_pem)
        self.kubernetes.apply([*kafka.build_objects(), *postgres.build_objects(), *needed])
        for server in ("postgres", "kafka"):
            self.kubernetes.kubectl(
                "rollout", "status", "-n", kafka_brokers.NAMESPACE, f"statefulset/{server}", f"--timeout={_READY_S}s"
            )
        _retry(self.release.create_roles)

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        started_s = time.monotonic()
        yield
        self.took_s[name] = time.monotonic() - started_s
        print(f"✓ {name} {self.took_s[name]:.1f} s", flush=True)


def _retry(action: Callable[[], None], times: int = 20) -> None:
    """A port that listens is not a server that answers yet."""
    for left in range(times, 0, -1):
        try:
            return action()
        except RuntimeError:
            if left == 1:
                raise
        time.sleep(1)
    return None

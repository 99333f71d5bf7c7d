"""Plays the faults of `fault_order.py` on the running site, one at a time, each until the site stands again."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mailroom_cluster import kafka_brokers, release, site_images
from mailroom_cluster.fault_order import Fault, FaultKind
from mailroom_cluster.kubernetes import Kubernetes
from mailroom_cluster.manifests import Object
from mailroom_cluster.release import NAMESPACE, WORKERS, Release

_KUBELET_AWAY_S = 5.0
_RECOVERY_S = 600


@dataclass(slots=True)
class FaultInjector:
    """`gateway_killed_at` are the times (`time.time`) from which connections to the gateway may have been reset."""

    kubernetes: Kubernetes
    release: Release
    gateway_killed_at: list[float] = field(default_factory=list)
    _revision_before_upgrade: int = 0

    def play(self, fault: Fault) -> None:
        """Blocks until what the fault took away is back."""
        match fault.kind:
            case FaultKind.KILL_POD:
                self._kill_pod(fault.target)
            case FaultKind.RESTART_KUBELET:
                self._restart_kubelet()
            case FaultKind.UPGRADE:
                self._revision_before_upgrade = self.release.find_revision()
                self.release.apply(site_images.NEXT_TAG)
            case FaultKind.ROLL_BACK:
                self.release.roll_back(self._revision_before_upgrade)
            case FaultKind.SCALE_WORKERS:
                for number in (4, 2):
                    self._scale_workers(number)
            case FaultKind.KILL_BROKER:
                self._kill_broker(int(fault.target))

    def _kill_pod(self, component: str) -> None:
        pods = self._list_pods(component)
        pod = pods[0]
        if component == release.GATEWAY:
            self.gateway_killed_at.append(time.time())
        self._kill_containers(pod)
        self._delete_pod(NAMESPACE, pod["metadata"]["name"])
        killed = pod["metadata"]["uid"]
        self._wait_until(
            lambda: self._count_ready(component, without=killed) == len(pods), f"{component} did not come back"
        )

    def _list_pods(self, component: str) -> list[Object]:
        label = f"app.kubernetes.io/component={component}"
        pods: list[Object] = self.kubernetes.get_json("pods", "-n", NAMESPACE, "-l", label)["items"]
        return pods

    def _count_ready(self, component: str, without: str) -> int:
        return sum(_is_ready(pod) for pod in self._list_pods(component) if pod["metadata"]["uid"] != without)

    def _kill_broker(self, number: int) -> None:
        name = f"{kafka_brokers.NAME}-{number}"
        pod = self.kubernetes.get_json("pod", "-n", kafka_brokers.NAMESPACE, name)
        self._kill_containers(pod)
        self._delete_pod(kafka_brokers.NAMESPACE, name)
        self._wait_until(lambda: self._has_ready_pod(kafka_brokers.NAMESPACE, name), f"{name} did not come back")

    def _kill_containers(self, pod: Object) -> None:
        """By SIGKILL and at once: a deletion alone would let the process end in order."""
        for container in pod["status"].get("containerStatuses", []):
            if "containerID" in container:  # one that is just being made has none, and goes with its pod
                self.kubernetes.kill_container(container["containerID"].removeprefix("containerd://"))

    def _delete_pod(self, namespace: str, name: str) -> None:
        self.kubernetes.kubectl("delete", "pod", "-n", namespace, name, "--grace-period=0", "--force")

    def _restart_kubelet(self) -> None:
        self.kubernetes.kill_kubelet()
        time.sleep(_KUBELET_AWAY_S)
        self.kubernetes.start_kubelet()
        self.kubernetes.wait_until_node_ready()

    def _scale_workers(self, number: int) -> None:
        for worker in WORKERS:
            workload = release.describe_workload(worker)
            self.kubernetes.kubectl("scale", "-n", NAMESPACE, workload, f"--replicas={number}")
        self._wait_until(
            lambda: all(self._has_replicas(worker, number) for worker in WORKERS), f"there are not {number} workers"
        )
        self.release.workers = number

    def _has_replicas(self, worker: str, number: int) -> bool:
        status = self.kubernetes.get_json("statefulset", "-n", NAMESPACE, release.object_name(worker))["status"]
        return bool(status.get("readyReplicas", 0) == number == status.get("replicas", 0))

    def _has_ready_pod(self, namespace: str, name: str) -> bool:
        try:
            return _is_ready(self.kubernetes.get_json("pod", "-n", namespace, name))
        except RuntimeError:
            return False  # deleted, and not made again yet

    def _wait_until(self, holds: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + _RECOVERY_S
        while not holds():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{otherwise} within {_RECOVERY_S} s")
            time.sleep(0.5)


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

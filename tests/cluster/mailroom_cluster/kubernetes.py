"""A Kubernetes of one node: etcd, API server, controllers, scheduler, containerd, kubelet, kube-proxy, DNS.

Everything here runs inside the namespaces of `namespaces.py`. Facts that no manual has stand at their lines.
"""

import json
import secrets
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from mailroom_cluster import image_archive
from mailroom_cluster.places import NODE_IP, Places

NODE = "node-1"
DNS_IP = "10.96.0.10"
# Generous, as all patience here: a machine that builds something else beside it is ten times as slow.
_START_S = 300
_KUBELET_HEALTH = "http://127.0.0.1:10248/healthz"
_PAUSE_IMAGE = "localhost/pause:1"


class Kubernetes:
    def __init__(self, places: Places) -> None:
        self._places = places
        self._state = places.state
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.kubeconfig = self._state / "kubeconfig"
        self._socket = self._state / "containerd.sock"

    def start(self) -> None:
        """Returns when the node is ready and names are resolved."""
        self._create_network()
        self._write_files()
        self._start_control_plane()
        self._start_containerd()
        self.start_kubelet()
        self._start_node_services()
        self.wait_until_node_ready()

    def wait_until_node_ready(self) -> None:
        # For a while the API server takes a node for ready whose kubelet is gone: this one says itself that it works.
        _wait_for(_is_kubelet_healthy, "the kubelet is not healthy")
        _wait_for(lambda: NODE in self.kubectl("get", "nodes", "-o", "name", check=False), "the node is not registered")
        self.kubectl("wait", "--for=condition=Ready", f"node/{NODE}", f"--timeout={_START_S}s")

    def start_kubelet(self) -> None:
        folders = [f"--root-dir={self._state}/kubelet", f"--cert-dir={self._state}/kubelet-certs"]
        node = [f"--hostname-override={NODE}", f"--node-ip={NODE_IP}"]
        self._start("kubelet", "kubelet", f"--kubeconfig={self.kubeconfig}", "--config=kubelet.yaml", *folders, *node)

    def kill_kubelet(self) -> None:
        kubelet = self._processes["kubelet"]
        kubelet.kill()
        kubelet.wait()

    def kill_container(self, container_id: str) -> None:
        """Its first process, by SIGKILL. One that has just ended is no error."""
        self._run_ctr("tasks", "kill", "--signal", "SIGKILL", container_id, check=False)

    def import_image(self, archive: Path) -> None:
        self._run_ctr("images", "import", str(archive))

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """What it prints.

        Raises:
            RuntimeError: it failed; the text is its own.
        """
        command = [str(self._places.binaries / "kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def get_json(self, *arguments: str) -> dict[str, Any]:  # Any: an object of Kubernetes' API
        found: dict[str, Any] = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return found

    def apply(self, objects: list[dict[str, Any]]) -> None:  # Any: objects of Kubernetes' API
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def stop(self) -> None:
        """Ends the programs in an order in which none waits for another; what is left dies with the namespaces."""
        for process in reversed(self._processes.values()):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _create_network(self) -> None:
        """The node's address is on one end of a pair of devices, since a dummy device is not in every kernel."""
        for command in (
            "ip link add node0 type veth peer name node1",
            f"ip addr add {NODE_IP}/24 dev node0",
            "ip link set node0 up",
            "ip link set node1 up",
            "ip route add default via 10.200.0.254",
            "sysctl -qw net.ipv4.ip_forward=1",
            "sysctl -qw net.ipv4.conf.all.route_localnet=1",
            "sysctl -qw net.bridge.bridge-nf-call-iptables=1",
        ):
            subprocess.run(command.split(), check=True)

    def _write_files(self) -> None:
        token = secrets.token_hex(16)
        self._write("tokens.csv", f'{token},admin,1,"system:masters"\n')
        self._write("kubeconfig", _KUBECONFIG.format(server=f"https://{NODE_IP}:6443", token=token))
        self._write("containerd.toml", _CONTAINERD.format(state=self._state, pause=_PAUSE_IMAGE))
        (self._state / "cni").mkdir()
        self._write("cni/10-pods.conflist", json.dumps(_POD_NETWORK))
        self._write("kubelet.yaml", _KUBELET.format(socket=self._socket, dns=DNS_IP))
        self._write("proxy.yaml", _PROXY.format(kubeconfig=self.kubeconfig))
        self._write("Corefile", _COREFILE.format(ip=NODE_IP, kubeconfig=self.kubeconfig))
        for command in ("genrsa -out sa.key 2048", "rsa -in sa.key -pubout -out sa.pub"):
            subprocess.run(["openssl", *command.split()], cwd=self._state, check=True, capture_output=True)

    def _start_control_plane(self) -> None:
        # Without fsync: what the machine loses in a power cut is no matter here, and the disk is shared.
        self._start("etcd", "/usr/bin/etcd", f"--data-dir={self._state}/etcd", "--unsafe-no-fsync")
        self._start(
            "apiserver",
            "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--cert-dir={self._state}/certificates",
            "--bind-address=0.0.0.0",
            f"--advertise-address={NODE_IP}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=sa.pub",
            "--service-account-signing-key-file=sa.key",
            "--token-auth-file=tokens.csv",
            "--authorization-mode=Node,RBAC",
            "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP",
        )
        _wait_for(lambda: self.kubectl("get", "--raw", "/readyz", check=False) == "ok", "the API server is not ready")
        self._start(
            "controllers",
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            "--service-account-private-key-file=sa.key",
            f"--root-ca-file={self._state}/certificates/apiserver.crt",
            "--use-service-account-credentials=false",
            "--allocate-node-cidrs=true",
            "--cluster-cidr=10.244.0.0/16",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
        )
        arguments = (f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1")
        self._start("scheduler", "kube-scheduler", *arguments)

    def _start_containerd(self) -> None:
        self._start("containerd", "/usr/bin/containerd", "-c", "containerd.toml")
        _wait_for(lambda: self._run_ctr("version", check=False) == 0, "containerd does not answer")
        layer, archive = self._state / "pause.layer", self._state / "pause.tar"
        # containerd ends a pod's pause container with SIGKILL, so that any program will do that does nothing.
        image_archive.write_layer(layer, image_archive.find_program_files("sleep"))
        image_archive.write_image(archive, _PAUSE_IMAGE, [layer], entrypoint=["/usr/bin/sleep", "infinity"])
        self.import_image(archive)

    def _start_node_services(self) -> None:
        self._start("proxy", "kube-proxy", "--config=proxy.yaml", f"--hostname-override={NODE}")
        self._start("dns", "coredns", "-conf", "Corefile")
        self.apply(_build_dns_service())

    def _start(self, name: str, program: str, *arguments: str) -> None:
        self._places.logs.mkdir(parents=True, exist_ok=True)
        path = self._places.binaries / program  # an absolute program stays as it is
        with (self._places.logs / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen([path, *arguments], cwd=self._state, stdout=log, stderr=log)

    def _run_ctr(self, *arguments: str, check: bool = True) -> int:
        command = ["ctr", "-a", str(self._socket), "-n", "k8s.io", *arguments]
        return subprocess.run(command, capture_output=True, check=check).returncode

    def _write(self, name: str, content: str) -> None:
        (self._state / name).write_text(content)


def _wait_for(holds: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + _START_S
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{otherwise} after {_START_S} s")
        time.sleep(0.2)


def _is_kubelet_healthy() -> bool:
    try:
        with urllib.request.urlopen(_KUBELET_HEALTH, timeout=5) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except OSError:
        return False


def _build_dns_service() -> list[dict[str, Any]]:  # Any: objects of Kubernetes' API
    """A Service without a selector: CoreDNS runs beside the pods, on the node's address."""
    metadata = {"name": "kube-dns", "namespace": "kube-system"}
    ports = [{"name": f"dns-{protocol.lower()}", "protocol": protocol} for protocol in ("UDP", "TCP")]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"clusterIP": DNS_IP, "ports": [{**port, "port": 53, "targetPort": 5353} for port in ports]},
    }
    slices = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**metadata, "labels": {"kubernetes.io/service-name": "kube-dns"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [NODE_IP]}],
        "ports": [{**port, "port": 5353} for port in ports],
    }
    return [service, slices]


_KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: test, cluster: {{server: "{server}", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
contexts: [{{name: test, context: {{cluster: test, user: admin}}}}]
current-context: test
"""

# `restrict_oom_score_adj`: in a container that is not the machine's first, the score may not be lowered.
_CONTAINERD = """
version = 2
root = "{state}/containerd-root"
state = "{state}/containerd-state"
[grpc]
  address = "{state}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{state}/cni"
"""

_POD_NETWORK = {
    "cniVersion": "0.4.0",
    "name": "pods",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "ipMasq": True,
            "hairpinMode": True,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": "10.244.0.0/24"}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        },
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ],
}

# `failCgroupV1`: this kubelet refuses the older cgroups unless told otherwise.
_KUBELET = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {{anonymous: {{enabled: true}}, webhook: {{enabled: false}}}}
authorization: {{mode: AlwaysAllow}}
cgroupDriver: cgroupfs
clusterDNS: [{dns}]
clusterDomain: cluster.local
containerRuntimeEndpoint: "unix://{socket}"
enforceNodeAllocatable: []
evictionHard: {{memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}}
# No registry gives an image back: on a disk of this machine that is 85 % full, kubelet would delete those not in use.
imageGCHighThresholdPercent: 100
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
readOnlyPort: 0
"""

_PROXY = """
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: 10.244.0.0/16
clientConnection: {{kubeconfig: "{kubeconfig}"}}
conntrack: {{maxPerCore: 0}}
"""

_COREFILE = """
.:5353 {{
    bind {ip}
    kubernetes cluster.local {{
        kubeconfig {kubeconfig}
    }}
    errors
}}
"""

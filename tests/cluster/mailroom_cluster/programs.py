"""What the cluster is made of: Debian packages, and Kubernetes' own programs built once from Go modules.

Each folder of `programs/` has a `go.sum` that every module is checked by, and a program or tools in its `go.mod`.
"""

import os
import shutil
import subprocess
from pathlib import Path

from mailroom_cluster.places import PROGRAMS

KUBERNETES_VERSION = "1.34.4"
# Debian package by a file that it brings.
_DEBIAN_PACKAGES = {
    "/usr/bin/etcd": "etcd-server",
    "/usr/bin/containerd": "containerd",
    "/usr/sbin/runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "/usr/sbin/iptables": "iptables",
    "/usr/sbin/nft": "nftables",
    "/usr/sbin/conntrack": "conntrack",
    "/sbin/ip": "iproute2",
    "/usr/bin/buildah": "buildah",
    "/usr/sbin/debootstrap": "debootstrap",
}
# Program by the folder of `programs/` that builds it.
_GO_PROGRAMS = {
    "kubernetes": (
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubelet",
        "kube-proxy",
        "kubectl",
    ),
    "coredns": ("coredns",),
}


class MissingPrerequisite(Exception):
    """The machine lacks something that this program cannot bring; its text says what to do."""


def provide_programs(binaries: Path) -> None:
    """Installs and builds whatever is not there yet.

    Raises:
        MissingPrerequisite: not root, no Go, or not a Debian.
    """
    if os.geteuid() != 0:
        raise MissingPrerequisite("The cluster needs root: it makes namespaces, mounts and cgroups. Run it as root.")
    _install_debian_packages()
    for folder, names in _GO_PROGRAMS.items():
        if not all((binaries / name).exists() for name in names):
            _build_programs(PROGRAMS / folder, binaries)


def _install_debian_packages() -> None:
    missing = sorted(package for file, package in _DEBIAN_PACKAGES.items() if not Path(file).exists())
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise MissingPrerequisite(f"This machine lacks {', '.join(missing)}, which are Debian packages. Install them.")
    print(f"· installing {' '.join(missing)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def _build_programs(folder: Path, binaries: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise MissingPrerequisite(
            "Kubernetes' programs are built with Go: install Go 1.25 or newer and put it on PATH."
        )
    print(f"· building {', '.join(_GO_PROGRAMS[folder.name])} (minutes, the first time)", flush=True)
    binaries.mkdir(parents=True, exist_ok=True)
    # Built beside and moved into place one by one, so that an interrupted build leaves no half a set that looks whole.
    fresh = binaries / f"{folder.name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    environment = {**os.environ, "GOBIN": str(fresh), "GOFLAGS": "-mod=readonly"}
    built = "." if (folder / "main.go").exists() else "tool"
    subprocess.run([go, "install", "-ldflags", _linker_flags(), built], cwd=folder, env=environment, check=True)
    for program in fresh.iterdir():
        program.replace(binaries / program.name)
    fresh.rmdir()


def _linker_flags() -> str:
    """Without a version that they can parse, kubectl and Helm refuse the API server."""
    minor = KUBERNETES_VERSION.split(".")[1]
    values = {"gitVersion": f"v{KUBERNETES_VERSION}", "gitMajor": "1", "gitMinor": minor}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(
        ["-s", "-w", *(f"-X {package}.{name}={value}" for package in packages for name, value in values.items())]
    )

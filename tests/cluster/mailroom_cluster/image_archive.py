"""Writes image archives that containerd imports, from folders of this machine and without an image builder."""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_image(archive: Path, name: str, layers: Sequence[Path], *, entrypoint: Sequence[str] = ()) -> None:
    """`layers` are tar files, the lowest first; the archive has the form of `docker save`."""
    digests = [_hash_file(layer) for layer in layers]
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": list(entrypoint), "Env": [f"PATH={path}"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
    }
    files = [f"{digest}.tar" for digest in digests]
    unfinished = archive.with_suffix(".new")
    with tarfile.open(unfinished, "w") as out:
        for layer, file in zip(layers, files, strict=True):
            out.add(layer, file)
        _add_json(out, "config.json", config)
        _add_json(out, "manifest.json", [{"Config": "config.json", "RepoTags": [name], "Layers": files}])
    unfinished.replace(archive)


def write_layer(layer: Path, contents: Mapping[str, Path]) -> None:
    """`contents` maps paths in the image to files or folders here; links are followed in their last part only."""
    with tarfile.open(layer, "w") as out:
        for target, source in contents.items():
            out.add(source.resolve(), target.lstrip("/"))


def find_program_files(program: str) -> dict[str, Path]:
    """A program with the shared libraries that it loads, by their paths."""
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(program)
    libraries = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout.split()
    return {path: Path(path) for path in [found, *libraries] if path.startswith("/")}


def _add_json(out: tarfile.TarFile, name: str, content: object) -> None:
    encoded = json.dumps(content).encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(encoded)
    out.addfile(entry, io.BytesIO(encoded))


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

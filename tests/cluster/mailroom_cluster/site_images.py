"""Mailroom's images: built as operators get them, and with a layer on top for what only the test needs."""

import hashlib
import io
import json
import os
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mailroom_cluster.places import CHECKOUT

SERVICES = ("webhook-gateway", "subscription-manager", "sync-engine", "ingestion", "cli")
TAG = "cluster-test"
NEXT_TAG = "cluster-test-next"
DROPPING_TAG = "cluster-test-drops"
_PREFIX = "localhost/mailroom"
_MIGRATION = "ingestion/migrations/9999_cluster_test.sql"
# What an expanding migration of the next version is like: code that does not know of it goes on.
# Workers have statements that read all columns of these tables while it runs, and those go on too.
_MIGRATION_SQL = """\
create table ingestion.cluster_test (id bigint primary key);
alter table ingestion.document add column cluster_test text not null default '';
alter table ingestion.intake add column cluster_test text;
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """Images once more, under another tag and with `files` on top; `only` one service, or all of them."""

    tag: str
    files: Mapping[str, str]
    only: str | None = None

    def includes(self, name: str) -> bool:
        return self.only is None or name.endswith(f"/{self.only}")


class SiteImages:
    """Makes one archive for containerd; layers that images share are in it once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def build(self) -> Path:
        """The images of this checkout, the next version with one migration more, and a worker that drops a page."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._build_images()
        names = [f"{_PREFIX}/{service}:{TAG}" for service in SERVICES]
        archive = self._folder / f"site-{self._hash_inputs(names)}.tar"
        if archive.exists():
            return archive
        for old in self._folder.glob("site-*"):
            old.unlink()
        saved = self._folder / "site-saved.tar"
        subprocess.run(
            ["podman", "save", "-q", "-m", "--format", "docker-archive", "-o", str(saved), *names], check=True
        )
        unfinished = archive.with_suffix(".new")
        add_variants(saved, unfinished, _list_variants(read_python_version(saved)))
        saved.unlink()
        unfinished.replace(archive)
        return archive

    def _hash_inputs(self, names: list[str]) -> str:
        command = ["podman", "image", "inspect", "--format", "{{.Id}}", *names]
        ids = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return hashlib.sha256(f"{ids}{_list_variants('')}".encode()).hexdigest()[:12]

    def _build_images(self) -> None:
        environment = {**os.environ, "PREFIX": "mailroom", "TAG": TAG}
        log = self._folder / "build.log"
        with log.open("wb") as out:
            for command in (
                ["deploy/images/make-stand-ins.sh", "python"],
                ["deploy/images/build-images.sh", *SERVICES],
            ):
                done = subprocess.run(command, cwd=CHECKOUT, env=environment, stdout=out, stderr=out, check=False)
                if done.returncode != 0:
                    raise RuntimeError(f"{command[0]} failed; the end of {log}:\n{log.read_text()[-2000:]}")


def _list_variants(python_version: str) -> list[Variant]:
    packages = f"opt/mailroom/lib/python{python_version}/site-packages"
    dropping = {
        f"{packages}/mailroom_drops_page.py": _DROP_PAGE.read_text(),
        f"{packages}/mailroom_drops_page.pth": _LOAD_DROP_PAGE,
    }
    upgraded = {f"{packages}/{_MIGRATION}": _MIGRATION_SQL}
    return [Variant(NEXT_TAG, upgraded), Variant(DROPPING_TAG, dropping, only="sync-engine")]


def add_variants(source: Path, target: Path, variants: Sequence[Variant]) -> None:
    """The archive of `podman save` with variants of its images added."""
    with tarfile.open(source) as given, tarfile.open(target, "w") as out:
        images = json.load(_open_member(given, "manifest.json"))
        for name in sorted({name for image in images for name in (image["Config"], *image["Layers"])}):
            out.addfile(given.getmember(name), given.extractfile(name))
        for variant in variants:
            layer = _build_layer(variant.files)
            digest = hashlib.sha256(layer).hexdigest()
            _add_file(out, f"{digest}.tar", layer)
            images += [
                _add_variant(given, out, image, variant.tag, digest)
                for image in images
                if image["RepoTags"][0].endswith(f":{TAG}") and variant.includes(_untag(image))
            ]
        _add_file(out, "manifest.json", json.dumps(images).encode())


def _add_variant(
    given: tarfile.TarFile, out: tarfile.TarFile, image: dict[str, Any], tag: str, digest: str
) -> dict[str, Any]:  # Any: an image of an archive's manifest
    config = json.load(_open_member(given, image["Config"]))
    config["rootfs"]["diff_ids"].append(f"sha256:{digest}")
    config.pop("history", None)  # it has an entry a layer, or the image is refused
    encoded = json.dumps(config).encode()
    file = f"{hashlib.sha256(encoded).hexdigest()}.json"
    _add_file(out, file, encoded)
    layers = [*image["Layers"], f"{digest}.tar"]
    return {"Config": file, "RepoTags": [f"{_untag(image)}:{tag}"], "Layers": layers}


def _untag(image: dict[str, Any]) -> str:  # Any: as above
    return str(image["RepoTags"][0].rpartition(":")[0])


def read_python_version(archive: Path) -> str:
    """That of the interpreter in the images, as its folder is named."""
    with tarfile.open(archive) as images:
        for layer in {name for image in json.load(_open_member(images, "manifest.json")) for name in image["Layers"]}:
            with tarfile.open(fileobj=_open_member(images, layer)) as files:
                for name in files.getnames():
                    parts = name.removeprefix("./").split("/")
                    if parts[:3] == ["opt", "mailroom", "lib"] and len(parts) > 3 and parts[3].startswith("python3."):
                        return parts[3].removeprefix("python")
    raise RuntimeError(f"{archive} holds no Python environment in /opt/mailroom")


def _build_layer(files: Mapping[str, str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        for name, text in files.items():
            _add_file(layer, name, text.encode())
    return content.getvalue()


def _add_file(out: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    out.addfile(entry, io.BytesIO(content))


def _open_member(archive: tarfile.TarFile, name: str) -> io.BufferedReader:
    found = archive.extractfile(name)
    if found is None:
        raise RuntimeError(f"the archive has no {name}")
    return found  # type: ignore[return-value] # a BufferedReader in fact, which the stub calls IO[bytes]


# Python runs the lines of a `.pth` file when it starts. No code of ours knows of this, and no other image has it.
_LOAD_DROP_PAGE = "import mailroom_drops_page\n"
_DROP_PAGE = Path(__file__).with_name("test_image_layers") / "mailroom_drops_page.py"

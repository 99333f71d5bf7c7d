"""A variant of an image is the image with one layer more, and leaves the image itself as it was."""

import json
import tarfile
from pathlib import Path
from typing import Any

from mailroom_cluster import image_archive
from mailroom_cluster.site_images import TAG, Variant, add_variants, read_python_version


def write_site(folder: Path) -> Path:
    """One archive with two images that share their layer."""
    program = folder / "program"
    program.write_text("x")
    layer, archive = folder / "layer", folder / "site.tar"
    image_archive.write_layer(layer, {"/opt/mailroom/lib/python3.13/site-packages/program": program})
    image_archive.write_image(archive, f"localhost/mailroom/ingestion:{TAG}", [layer], entrypoint=["/program"])
    with tarfile.open(archive, "a") as out:
        manifest = read_json(archive, "manifest.json")
        second = {**manifest[0], "RepoTags": [f"localhost/mailroom/cli:{TAG}"]}
        encoded = folder / "manifest.json"
        encoded.write_text(json.dumps([*manifest, second]))
        out.add(encoded, "manifest.json")
    return archive


def read_json(archive: Path, name: str) -> Any:
    with tarfile.open(archive) as files:
        found = files.extractfile(name)
        assert found is not None
        return json.load(found)


def test_a_variant_has_the_files_on_top_and_the_same_entrypoint(tmp_path: Path) -> None:
    target = tmp_path / "all.tar"
    add_variants(write_site(tmp_path), target, [Variant("next", {"opt/new.sql": "select 1;"})])
    images = {image["RepoTags"][0]: image for image in read_json(target, "manifest.json")}
    assert set(images) == {f"localhost/mailroom/{name}:{tag}" for name in ("cli", "ingestion") for tag in (TAG, "next")}
    before, after = images[f"localhost/mailroom/ingestion:{TAG}"], images["localhost/mailroom/ingestion:next"]
    assert after["Layers"][:-1] == before["Layers"]
    config = read_json(target, after["Config"])
    assert config["config"]["Entrypoint"] == ["/program"]
    assert [f"sha256:{layer.removesuffix('.tar')}" for layer in after["Layers"]] == config["rootfs"]["diff_ids"]
    with tarfile.open(target) as files, tarfile.open(fileobj=files.extractfile(after["Layers"][-1])) as layer:
        assert layer.getnames() == ["opt/new.sql"]


def test_a_variant_of_one_service_leaves_the_others_out(tmp_path: Path) -> None:
    target = tmp_path / "all.tar"
    add_variants(write_site(tmp_path), target, [Variant("drops", {"a": "b"}, only="ingestion")])
    tags = [image["RepoTags"][0] for image in read_json(target, "manifest.json")]
    assert [tag for tag in tags if tag.endswith(":drops")] == ["localhost/mailroom/ingestion:drops"]


def test_python_version_is_read_from_the_layers(tmp_path: Path) -> None:
    assert read_python_version(write_site(tmp_path)) == "3.13"

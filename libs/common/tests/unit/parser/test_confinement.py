"""What confines a parser process: the layers that it reports."""

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import uvloop
from prometheus_client import REGISTRY

from mailroom_common.errors import SettingsError
from mailroom_common.parser import ParserUnconfined, confinement
from mailroom_common.parser.confinement import REQUIRED_LAYERS, ConfinementLayer
from mailroom_common.parser.pool import ParserPool

HERE = Path(__file__).parent
PR_GET_DUMPABLE, PR_SET_DUMPABLE = 3, 4


@pytest.fixture
def dumpable() -> Iterator[None]:
    """The process of the test as a service finds itself at its start, and as other tests want it afterwards."""
    set_dumpable(is_dumpable=True)
    yield
    set_dumpable(is_dumpable=True)


def set_dumpable(*, is_dumpable: bool) -> None:
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, int(is_dumpable), 0, 0, 0)


def layer_metric(layer: ConfinementLayer) -> float | None:
    return REGISTRY.get_sample_value("mailroom_parser_confinement_layer", {"layer": layer.value})


async def layers_without(
    module: str, *, allow_unconfined: bool = False, private_paths: Sequence[Path] = ()
) -> dict[str, bool]:
    """The layers of a process whose module, of `readers_without_layers`, takes one of them away before it starts."""
    async with ParserPool(
        preload=[module],
        search_path=[HERE / "readers_without_layers"],
        private_paths=private_paths,
        allow_unconfined=allow_unconfined,
    ) as pool:
        return await pool.check_confinement()


async def test_every_required_layer_holds_here_and_the_metric_says_so(dumpable: None) -> None:
    async with ParserPool() as pool:
        layers = await pool.check_confinement()
    assert layers.keys() == set(ConfinementLayer)
    for layer in REQUIRED_LAYERS:
        assert layers[layer]
        assert layer_metric(layer) == 1


async def test_a_service_with_a_pool_cannot_be_dumped(dumpable: None) -> None:
    async with ParserPool() as pool:
        await pool.check_confinement()
        assert ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0


@pytest.mark.parametrize(
    ("module", "layer", "sentence"),
    [
        ("without_seccomp", ConfinementLayer.SECCOMP_FILTER, "lacks a seccomp filter"),
        ("without_hard_limits", ConfinementLayer.HARD_LIMITS, "lacks hard limits on memory"),
        ("with_readable_parent", ConfinementLayer.UNREADABLE_PARENT, "lacks a parent that cannot be dumped"),
    ],
)
async def test_a_process_that_lacks_a_required_layer_reads_nothing(
    dumpable: None, monkeypatch: pytest.MonkeyPatch, module: str, layer: ConfinementLayer, sentence: str
) -> None:
    monkeypatch.setattr("mailroom_common.parser.pool.forbid_dumping_this_process", lambda: None)
    with pytest.raises(ParserUnconfined, match=sentence) as missing:
        await layers_without(module)
    assert "MAILROOM_PARSER_UNCONFINED=1" in str(missing.value)
    assert isinstance(missing.value, SettingsError)
    assert layer_metric(layer) == 0
    layers = await layers_without(module, allow_unconfined=True)
    assert not layers[layer]


async def test_an_unconfined_process_is_not_given_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"untrusted")
    async with ParserPool(preload=["without_seccomp"], search_path=[HERE / "readers_without_layers"]) as pool:
        with pytest.raises(ParserUnconfined):
            await pool.run_reader("without_seccomp:read_file", tmp_path / "file", str)


@pytest.mark.parametrize("loop_factory", [uvloop.new_event_loop, asyncio.new_event_loop])
def test_a_parser_process_has_no_descriptor_of_the_service(
    loop_factory: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    async def read_descriptors() -> Any:
        async with ParserPool(preload=["hostile_readers"], search_path=[HERE]) as pool:
            return await pool.run_reader("hostile_readers:list_descriptors", b"", list)

    inherited = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(inherited, True)
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        descriptors = runner.run(read_descriptors())
    os.close(inherited)
    # Three standard streams that lead nowhere, and the two pipes to the pool.
    assert descriptors[:3] == ["null device"] * 3
    assert len(descriptors) == 5
    assert len(set(descriptors[3:])) == 2


async def test_files_that_only_the_worker_may_read_are_tried(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("canary")
    paths = [secret, tmp_path, tmp_path / "not there"]
    async with ParserPool(private_paths=paths) as pool:
        layers = await pool.check_confinement()
    if layers["landlock"]:
        assert layers["unreadable_files"]
    assert layer_metric(ConfinementLayer.UNREADABLE_FILES) == layers["unreadable_files"]


async def test_a_process_that_can_open_a_private_file_reads_nothing_and_says_which(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("canary")
    with pytest.raises(ParserUnconfined, match="lacks Landlock") as missing:
        await layers_without("without_landlock", private_paths=[secret, tmp_path / "not there"])
    sentence = str(missing.value)
    assert f"It can open {secret}." in sentence
    assert "MAILROOM_PARSER_UNCONFINED=1" in sentence
    assert "canary" not in sentence
    assert layer_metric(ConfinementLayer.UNREADABLE_FILES) == 0
    layers = await layers_without("without_landlock", private_paths=[secret], allow_unconfined=True)
    assert not layers["unreadable_files"]


async def test_a_secret_among_the_files_of_python_is_readable_whatever_the_kernel_has(tmp_path: Path) -> None:
    with pytest.raises(ParserUnconfined, match="It can open "):
        async with ParserPool(private_paths=[Path(os.__file__)]) as pool:
            await pool.check_confinement()


def test_a_file_that_cannot_be_tried_counts_as_readable(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    paths = [str(tmp_path / name) for name in ("loop", "pipe", "not there")]
    assert confinement.find_readable_files(paths) == paths[:2]


def test_a_descriptor_that_stays_open_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "closerange", lambda _first, _last: None)
    assert not confinement.close_inherited_descriptors()  # the test has some of its own


@pytest.mark.skipif(sys.platform != "linux", reason="both are Linux's")
@pytest.mark.parametrize(
    ("module", "layer"),
    [("without_namespaces", ConfinementLayer.NAMESPACES), ("without_landlock", ConfinementLayer.LANDLOCK)],
)
async def test_namespaces_and_landlock_are_reported_and_not_required(module: str, layer: ConfinementLayer) -> None:
    assert not (await layers_without(module))[layer]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_parent_that_proc_does_not_list_is_unreadable() -> None:
    # As with hidepid=2: /proc is there, and the other process is not in it.
    assert confinement._is_unreadable(2**30)


def test_parent_is_not_taken_for_unreadable_without_a_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "Path", lambda path: Path("/nowhere" + path))
    assert not confinement._is_unreadable(2**30)

import socket
import time
from pathlib import Path

import pytest

from mailroom_sandbox.site.stack import ports


def test_ports_are_chosen_once_and_kept(tmp_path: Path) -> None:
    first = ports.choose_ports(tmp_path / "ports.json", ["kafka", "front"])
    again = ports.choose_ports(tmp_path / "ports.json", ["kafka", "front", "gateway"])
    assert again | first == again
    assert len(set(again.values())) == 3


def test_port_of_the_environment_is_taken_and_kept(tmp_path: Path) -> None:
    ports.choose_ports(tmp_path / "ports.json", ["front"])
    assert ports.choose_ports(tmp_path / "ports.json", ["front"], {"front": 8443})["front"] == 8443
    assert ports.choose_ports(tmp_path / "ports.json", ["front"])["front"] == 8443


def test_taken_port_ends_the_start_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_LEFTOVER_GRACE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ports.PortTaken, match=rf"port {port} of front is taken by process \d+ .*: .* make clean"):
            ports.require_free_ports({"front": port}, hint="use make clean")


def test_port_that_frees_itself_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    other = socket.create_server(("127.0.0.1", 0))
    waits: list[float] = []

    def close_instead_of_sleeping(seconds: float) -> None:
        waits.append(seconds)
        other.close()

    monkeypatch.setattr(time, "sleep", close_instead_of_sleeping)
    ports.require_free_ports({"front": other.getsockname()[1]}, hint="")
    assert len(waits) == 1


def test_chosen_ports_are_no_connections_of_others() -> None:
    ephemeral_from = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert ports.free_port() < ephemeral_from


def test_a_port_that_cannot_be_had_does_not_replace_the_kept_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ports.json"
    kept = ports.choose_ports(file, ["front"])
    monkeypatch.setattr(ports, "_LEFTOVER_GRACE_S", 0)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        with pytest.raises(ports.PortTaken, match="set MAILROOM_FRONT_PORT to another"):
            ports.choose_ports(file, ["front"], {"front": holder.getsockname()[1]})
    assert ports.choose_ports(file, ["front"]) == kept


def test_a_port_that_is_not_for_this_user_is_not_called_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(socket.socket):
        def bind(self, _address: object) -> None:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "socket", Refusing)
    with pytest.raises(ports.PortForbidden, match="may not listen on port 443 of front"):
        ports.require_free_ports({"front": 443}, hint="choose another")

"""The fork server: imports the readers once, and forks a process for each document, which then has them loaded.

`python -I -m mailroom_common.parser.fork_server OPTIONS`, started with an empty environment. It sees no byte of a
document, has one thread and is confined itself. Its standard input is a Unix socket to the service. For each process
that is to be forked the service sends three descriptors over it: the two pipes of the process, and a socket that
supervises it. On that socket the server says how the process ended; it kills the process when the service closes it.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from mailroom_common.parser import confinement
from mailroom_common.parser.child import serve_document
from mailroom_common.parser.limits import ParserLimits, exceeds_memory_limit, set_fork_server_limits, set_hard_limits
from mailroom_common.parser.messages import ENDED, ENDING, FORK_FAILED, encode_message

_DESCRIPTORS_PER_PROCESS = 3


def main(options: dict[str, Any]) -> int:
    layers: list[str] = []
    if confinement.close_inherited_descriptors():
        layers.append(confinement.ConfinementLayer.NO_INHERITED_DESCRIPTORS)
    confinement.forbid_dumping_this_process()
    sys.path[:0] = options["search_path"]
    control = _take_over_standard_input()
    # Before the preload: a library may start threads as it is imported, and each would keep the capabilities.
    confinement.drop_capabilities()
    # Readers are imported while this is still an ordinary process: what they load cannot depend on untrusted input.
    for module in options["preload"]:
        importlib.import_module(module)
    limits = ParserLimits(**options["limits"])
    # Its end says so to the service. Were it to go on, every file would be blamed for what the setting does.
    if exceeds_memory_limit(limits):
        return 1
    server = _ForkServer(control, limits, options["private_paths"])
    threads = _count_threads()
    set_fork_server_limits(limits)
    server.layers = [*layers, *confinement.confine_fork_server(options["service"])]
    os.write(control.fileno(), encode_message({"threads": threads}))
    server.serve_requests()
    return 0


def _take_over_standard_input() -> socket.socket:
    """Keep it for ourselves: nothing that a library does with standard input may reach the service."""
    control = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    return control


def _count_threads() -> int:
    """A fork copies one thread: what the others were doing, and the locks that they hold, would be left undone."""
    try:
        return len([*Path("/proc/self/task").iterdir()])
    except OSError:  # no Linux
        return 1


class _ForkServer:
    def __init__(self, control: socket.socket, limits: ParserLimits, private_paths: list[str]) -> None:
        self.layers: list[str] = []
        self._control = control
        self._limits = limits
        self._private_paths = private_paths
        self._process_id = os.getpid()
        self._supervised: dict[int, int] = {}  # the supervising socket of each process
        self._wakeup, wakeup_writer = os.pipe()
        os.set_blocking(wakeup_writer, False)
        # The end of a process becomes a byte in that pipe; the handler is there to be called, which writes it.
        signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        self._poll = select.poll()
        for descriptor in (control.fileno(), self._wakeup):
            self._poll.register(descriptor, select.POLLIN)

    def serve_requests(self) -> None:
        """Until the service closes the socket and the last process has ended."""
        # What is there by now stays: the garbage collectors of the processes need not look at it, and copy its pages.
        gc.collect()
        gc.freeze()
        is_open = True
        while is_open or self._supervised:
            # One at a time: an event may make the next one that was found with it void.
            descriptor, _ = self._poll.poll()[0]
            if descriptor == self._control.fileno():
                is_open = self._take_request()
            elif descriptor == self._wakeup:
                os.read(self._wakeup, 4096)
                self._report_ended_processes()
            else:
                self._kill_process(descriptor)

    def _take_request(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._control, 1, _DESCRIPTORS_PER_PROCESS)
        if not message:
            self._poll.unregister(self._control)
            return False
        if len(descriptors) == _DESCRIPTORS_PER_PROCESS:
            self._fork_process(*descriptors)
        else:  # there was no room for more; the service sees their other ends closed
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _fork_process(self, requests: int, answers: int, supervising: int) -> None:
        try:
            process_id = os.fork()
        except OSError as error:
            with suppress(OSError):
                os.write(supervising, ENDING.pack(FORK_FAILED, error.errno or 0))
            os.close(supervising)
        else:
            if process_id == 0:
                self._become_parser_process(requests, answers)
            self._supervised[process_id] = supervising
            self._poll.register(supervising, select.POLLIN)
        os.close(requests)
        os.close(answers)

    def _report_ended_processes(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
                process_id, status = ended
                supervising = self._supervised.pop(process_id)
                with suppress(KeyError):  # the service gave it up, and it was killed for that
                    self._poll.unregister(supervising)
                with suppress(OSError):
                    os.write(supervising, ENDING.pack(ENDED, os.waitstatus_to_exitcode(status)))
                os.close(supervising)

    def _kill_process(self, supervising: int) -> None:
        self._poll.unregister(supervising)
        for process_id, socket_of_process in self._supervised.items():
            if socket_of_process == supervising:
                os.kill(process_id, signal.SIGKILL)

    def _become_parser_process(self, requests: int, answers: int) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            layers = [*self.layers]
            if not confinement.close_descriptors_except(requests, answers):
                layers.remove(confinement.ConfinementLayer.NO_INHERITED_DESCRIPTORS)
            if set_hard_limits(self._limits):
                layers.append(confinement.ConfinementLayer.HARD_LIMITS)
            confinement.die_with_parent(self._process_id)
            layers += confinement.confine_parser_process()
            readable = confinement.find_readable_files(self._private_paths)
            if not readable:
                layers.append(confinement.ConfinementLayer.UNREADABLE_FILES)
            serve_document(requests, answers, layers, readable)
        finally:
            # Whatever happened: this copy of the server serves nobody.
            os._exit(1)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))

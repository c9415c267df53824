"""Servers of engines, started as processes on ports that are free, for ``simlab certify --url``."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.engines.sizes import NOISE
from simlab.certify.servers.client import LLAMA

STARTING = 120.0  # seconds that a server has to listen, on a busy machine too; one that has ended is not waited for


@contextmanager
def served(module: str, *arguments: Sequence[str]) -> Iterator[list[str]]:
    """The addresses of one server for each list of arguments: ``python -m module PORT ARGUMENTS``, while this lasts.

    Raises ``ValueError`` where one of them does not listen in time.
    """
    ports = _free_ports(len(arguments))
    servers = [
        subprocess.Popen(
            [sys.executable, "-m", module, str(port), *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for port, more in zip(ports, arguments, strict=True)
    ]
    try:
        for port, server in zip(ports, servers, strict=True):
            _await(module, port, server)
        yield [f"http://127.0.0.1:{port}{LLAMA}" for port in ports]
    finally:
        for server in servers:
            server.kill()
            server.wait()


@contextmanager
def with_and_without_drafts(
    module: str, write: Callable[[Path, float], None], ending: str = "", how: Sequence[str] = (), model: bool = True
) -> Iterator[list[str]]:
    """The addresses of a server that drafts, and of one that does not, as :func:`served` starts them.

    ``write`` writes the target, and with noise on its weights the draft ``model``, if there is one, to paths with this
    ``ending``; the server that drafts is given the target, ``how`` it drafts, and the draft model.
    """
    with TemporaryDirectory() as folder:
        target, draft = Path(folder, f"target{ending}"), Path(folder, f"draft{ending}")
        write(target, 0.0)
        if model:
            write(draft, NOISE)
        with served(module, [str(target), *how, *([str(draft)] if model else [])], [str(target)]) as addresses:
            yield addresses


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    with ExitStack() as opened:
        found = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in found]


def _await(module: str, port: int, server: subprocess.Popen[bytes]) -> None:
    """Until it says that its model is loaded."""
    last = time.monotonic() + STARTING
    while time.monotonic() < last and server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        connection.close()
        time.sleep(0.1)
    raise ValueError(f"the server of {module} does not listen; its exit status is {server.poll()}")

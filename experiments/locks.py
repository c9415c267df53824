"""A folder that one command at a time works in."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Busy(ValueError):
    """Another run is at work in the folder."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder, which is made if there is none; raises :class:`Busy` if another run does, and ``OSError`` where
    there can be no lock.

    The lock is the kernel's, on the file ``.lock``: it ends with the process, however that ends, so a file that a
    killed run left is no obstacle. The number in it is for people.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 200).decode(errors="replace").strip() or "another process"
            raise Busy(f"{folder} is in use by {holder}; wait for it to end, or choose another folder") from None
        except OSError as error:  # of a file system without locks
            raise OSError(error.errno, error.strerror, str(path)) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)

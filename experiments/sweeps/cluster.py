"""Compute cells on an existing Dask cluster, given the address of its scheduler."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from experiments.sweeps.cells import Cell
from experiments.sweeps.pools import Lost, Outcomes, Pool, outcome_beside

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 5.0
WORKER_SECONDS = 4.0  # what a cluster without workers has to bring one


class Unreachable(ValueError):
    """There is no cluster to be used."""


@contextmanager
def cluster(address: str) -> Iterator[Pool]:
    """The pool of the workers behind the scheduler at ``address``.

    Raises :class:`Unreachable` within ten seconds where the package is missing, nobody answers, there is no worker, or
    a worker has another simlab or none.
    """
    try:
        from distributed import Client
    except ImportError:
        raise Unreachable("needs the package distributed: pip install 'simlab[cluster]'") from None
    with _quiet():
        _check_answers(address)
        with Client(address, timeout=CONNECT_SECONDS) as client:
            _check_workers(client, address)
            yield lambda cells: _outcomes(client, cells)


@contextmanager
def _quiet() -> Iterator[None]:
    """What goes wrong is said once, by us."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    try:
        for logger in levels:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def _check_answers(address: str) -> None:
    """Shake hands with the scheduler: a client that finds none takes longer to give up, and complains."""
    from distributed import Security
    from distributed.comm import connect

    async def shake_hands() -> None:
        arguments = Security().get_connection_args("client")
        comm = await asyncio.wait_for(connect(address, CONNECT_SECONDS, **arguments), CONNECT_SECONDS)
        await comm.close()

    try:
        asyncio.run(shake_hands())
    except Exception as error:  # any server may answer there, with anything
        raise Unreachable(f"no Dask scheduler answers at {address!r}: {_first_line(error)}") from None


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _check_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except TimeoutError:
        raise Unreachable(f"the Dask cluster at {address} has no workers") from None
    own = version("simlab")
    for worker, theirs in client.run(_probe()).items():
        if theirs != own:
            raise Unreachable(f"the worker {worker} has simlab {theirs}; expected {own}, as here")


def _probe() -> Any:
    """A function that says which simlab a worker has; it travels as code, so that it runs where there is none."""

    def probe() -> str:
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("simlab")
        except PackageNotFoundError:
            return "not installed"

    return probe


def _outcomes(client: Client, cells: Sequence[Cell]) -> Outcomes:
    from distributed import as_completed

    futures = client.map(outcome_beside, cells, pure=False)
    try:
        over = as_completed(futures)
        for future in over:
            if future.status == "error":
                raise Lost(f"the Dask cluster gave up a cell: {_first_line(future.exception())}")
            if future.status in ("lost", "pending") and client.status == "running":
                over.add(future)  # the worker that had the result is gone: another computes it again
                continue
            if future.status != "finished":
                raise Lost("the Dask scheduler is gone")
            yield future.result()
            future.release()
    finally:
        client.cancel(futures)

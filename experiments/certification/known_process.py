"""``python -m experiments.certification.known_process CONTRACT NAME``: a known implementation, by the protocol.

It is what ``simlab certify --command`` is itself tested with: every bug and every correct implementation of
``verify``, which draws for itself there, and of ``chain_uniforms``, whose coins are sent.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Function
from simlab.certify.processes.protocol import NAME, VERSION, WORD
from simlab.mutants.catalogue import Implementation, bugs, correct

CONTRACTS = ("verify", "chain_uniforms")
WHOLE = 2  # the place of the drafts among the arguments; all others are real numbers


def known(wrong: bool) -> list[Implementation]:
    """The wrong or the correct implementations of those contracts."""
    return [one for one in (bugs() if wrong else correct()) if one.contract in CONTRACTS]


def serve(made: Implementation, hear: BinaryIO, say: BinaryIO) -> None:
    """Answer until the input ends."""
    *_, contract, seed = hear.readline().decode().split()
    say.write(f"{NAME} {VERSION} {contract}\n".encode())
    say.flush()
    function, rng = made.make(), np.random.default_rng(int(seed))
    while head := hear.read(WORD):
        answer = answered(function, hear.read(WORD * int.from_bytes(head, "little")), contract, rng)
        say.write(np.array([len(answer), *answer], "<i8").tobytes())
        say.flush()


def answered(function: Function, frame: bytes, contract: str, rng: np.random.Generator) -> list[int]:
    """The words that answer a frame, both without their length."""
    return [word for given in calls(frame) for word in _tokens(function, given, contract, rng)]


def calls(frame: bytes) -> Iterator[list[Array]]:
    """The arguments of each call in a frame."""
    # As in simlab/certify/clients/verifier.py, which is a script to be copied: it serves as soon as it is imported, and
    # its least form has no part of its own that reads a frame.
    whole, real = np.frombuffer(frame, "<i8"), np.frombuffer(frame, "<f8")
    count, arrays, place, shapes = int(whole[0]), int(whole[1]), 2, list[tuple[int, ...]]()
    for _ in range(arrays):
        rank = int(whole[place])
        shapes.append(tuple(whole[place + 1 : place + 1 + rank].tolist()))
        place += 1 + rank
    for _ in range(count):
        given = []
        for number, shape in enumerate(shapes):
            size = int(np.prod(shape))
            given.append((whole if number == WHOLE else real)[place : place + size].reshape(shape).copy())
            place += size
        yield given


def _tokens(function: Function, given: list[Array], contract: str, rng: np.random.Generator) -> list[int]:
    with np.errstate(all="ignore"):
        if contract == "verify":
            tokens = function(*given, rng)
        else:
            single = (one if one.dtype.kind == "i" else one.astype(np.float32) for one in given)
            tokens = function(*(one[()] if one.ndim == 0 else one for one in single))
    found = [int(token) for token in np.asarray(tokens).ravel().tolist()]
    return [len(found), *found]


def main(contract: str, name: str) -> None:
    """Serve the one of that name; raises ``StopIteration`` where there is none."""
    made = next(one for one in known(True) + known(False) if (one.contract, one.name) == (contract, name))
    serve(made, sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The protocol of ``simlab certify --command``, version 1: what is written to a process, and what it has to answer.

::

    certifier  simlab-certify 1 CONTRACT SEED\\n       a line of text
    process    simlab-certify 1 CONTRACT\\n            a line of text
    certifier  frame: n, a, a times (rank, dimensions), then for each of n calls its a arrays, row by row
    process    frame: for each of n calls, a count and so many tokens
    ...
    certifier  closes the input: the process ends

A frame is its length in words, then so many words of eight bytes, little-endian: each a float64 where the contract has
probabilities or coins, an int64 elsewhere. Nothing else may be written to the standard output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Broken
from simlab.messages import shown

VERSION = 1
NAME = "simlab-certify"
WORD = 8  # bytes
MOST_TOKENS = 1 << 15  # of an answer: as many as a call has rows, at most
LINE = 256  # bytes of a greeting, at most

Arguments = Sequence[Array]


def greeting(contract: str, seed: int) -> bytes:
    """The first line, from the certifier; ``seed`` is for a process that draws for itself."""
    return f"{NAME} {VERSION} {contract} {seed}\n".encode()


def check_greeting(line: bytes, contract: str) -> None:
    """Raise :class:`Broken` unless a process answers the greeting as it has to."""
    expected = f"{NAME} {VERSION} {contract}"
    if line.rstrip(b"\r\n") != expected.encode():
        raise Broken(f"answers the greeting with {readable(line)}; expected {expected!r} and the end of the line")


def request(calls: Sequence[Arguments]) -> bytes:
    """The frame that asks for calls whose arrays have the same shapes."""
    shapes = [array.shape for array in calls[0]]
    header = [len(calls), len(shapes), *(number for shape in shapes for number in (len(shape), *shape))]
    body = b"".join(_words(array) for arguments in calls for array in arguments)
    length = len(header) + len(body) // WORD
    return np.array([length, *header], "<i8").tobytes() + body


def most_words(calls: int) -> int:
    """The longest frame that can answer so many calls."""
    return calls * (1 + MOST_TOKENS)


def answers(words: Array, calls: int) -> list[Array]:
    """The tokens of each call in a frame ``int64[words]``; raises :class:`Broken` where it holds more or fewer."""
    found, place = list[Array](), 0
    for i in range(calls):
        if place == len(words):
            raise Broken(f"answers {i} of {calls} calls that were asked in one frame")
        count = int(words[place])
        if not 0 <= count <= min(MOST_TOKENS, len(words) - place - 1):
            raise Broken(
                f"answers with a count of {count} tokens; expected 0 to {min(MOST_TOKENS, len(words) - place - 1)}: "
                "not more than the frame holds"
            )
        found.append(words[place + 1 : place + 1 + count])
        place += 1 + count
    if place != len(words):
        raise Broken(f"answers {calls} calls with {len(words) - place} words too many")
    return found


def check_length(prefix: bytes, calls: int) -> int:
    """The length of a frame that answers so many calls; raises :class:`Broken` for one that it cannot have."""
    length = int(np.frombuffer(prefix, "<i8")[0])
    if not calls <= length <= most_words(calls):
        text = f" (the bytes read {readable(prefix)})" if prefix.isascii() and length > 1 << 32 else ""
        raise Broken(
            f"answers {calls} calls with a frame of {length} words{text}; expected {calls} to {most_words(calls)}"
        )
    return length


def readable(data: bytes) -> str:
    """What was read, for people."""
    return shown(data.decode("utf-8", "backslashreplace")) if data else "nothing"


def _words(array: Any) -> bytes:
    values = np.asarray(array)
    return values.astype("<f8" if values.dtype.kind == "f" else "<i8").tobytes()

"""A command as a callable: it is started once, greeted, and asked for many calls at a time."""

from __future__ import annotations

import contextlib
import io
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import Broken
from simlab.certify.contracts.scripted import NotScripted, Scripted
from simlab.certify.processes import protocol
from simlab.certify.registry import contract_named

CHUNK = 1 << 16  # bytes that are read or written at once
REMEMBERED = 5  # last lines of its standard error
ENDING = 1.0  # seconds that a process has to end by itself
UNSENT = {
    "decode": "a model that is called cannot be sent",
    "tree_siblings": "three arrays cannot be answered",
}


def _padded(target: Array) -> tuple[int, int]:
    return target.shape[0], target.shape[1]


def _ending(ends: Array) -> tuple[int, int]:
    return len(ends), 1 + int(np.diff(ends, prepend=0).max())


# contracts of batches: the sequences of a call, and how many tokens come of the longest, by one of its arguments
BATCHES: dict[str, tuple[int, Callable[[Array], tuple[int, int]]]] = {
    "verify_batch": (0, _padded),
    "batch_uniforms": (3, _padded),
    "flat_exponential": (1, _ending),
    "flat_tokens": (1, _ending),
}


class Command:
    """A process that answers the protocol, as a callable of a contract.

    It is started by the first call of each process that calls; there it draws for itself, or takes the coins that are
    among its arguments. The generator that a contract passes last is not sent: it could not answer.

    Raises ``ValueError`` where there is no such command, or the contract cannot be sent.

    Parameters
    ----------
    words
        The command and its arguments; no shell reads them.
    contract
        What it is asked for, and has to answer the greeting with.
    folder
        Where it is started.
    seed
        Sent with the greeting, for a process that draws for itself; where several are started, the first one has it.
    """

    apart = True  # no thread or device of the caller is in it

    def __init__(self, words: Sequence[str], contract: str, folder: Path, seed: int = 0) -> None:
        if contract in UNSENT:
            raise ValueError(
                f"--contract {contract}: {UNSENT[contract]}; every other contract can be sent to a command"
            )
        self.words, self.contract, self.folder, self.seed = list(words), contract, folder.absolute(), seed
        self.own_randomness = "rng" in contract_named(contract).signature
        self._running: _Running | None = None
        check_command(self.words, self.folder)

    def seeded_anew(self, seed: int) -> None:
        """The seed of the next process that it starts: of several at once each has its own, or they draw the same."""
        self.seed = seed

    def __call__(self, *arguments: Any) -> Any:
        return next(self.ask_many([arguments]))

    def ask_many(self, calls: Sequence[tuple[Any, ...]]) -> Iterator[Array]:
        """The answers of calls, asked in as few frames as their shapes allow."""
        for _, same in groupby(map(_arrays, calls), key=lambda one: tuple(np.shape(array) for array in one)):
            asked = list(same)
            process = self._process()
            try:
                found = protocol.answers(process.exchange(protocol.request(asked), len(asked)), len(asked))
            except Broken:
                process.end()
                self._running = None
                raise
            yield from (
                _shaped(tokens, self.contract, arguments) for tokens, arguments in zip(found, asked, strict=True)
            )

    def _process(self) -> _Running:
        if self._running is None or self._running.parent != os.getpid():
            self._running = _Running(self.words, self.folder)
            self._running.greet(self.contract, self.seed)
        return self._running


def command(line: str, contract: str = "verify", folder: str = ".", seed: int = 0) -> Command:
    """A command line as a callable of a contract; raises ``ValueError`` where there is no such command."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(
            f"--command {line}: {error}; expected a program and its arguments, as a shell has them"
        ) from None
    return Command(words, contract, Path(folder), seed)


def check_command(words: Sequence[str], folder: Path) -> None:
    """Raise ``ValueError`` unless ``words`` begin with a program that can be started."""
    if not words or not words[0]:
        raise ValueError("--command is empty; expected a program and its arguments")
    if shutil.which(program(words[0], folder)) is None:
        raise ValueError(f"--command {words[0]}: there is no such program, or it cannot be started")


def program(word: str, folder: Path) -> str:
    """What is started: a name that is looked for, or a path from ``folder``."""
    return str(folder / word) if os.path.dirname(word) else word


def _arrays(arguments: tuple[Any, ...]) -> list[Array]:
    """What is sent of a call: all but the generator."""
    if arguments and isinstance(arguments[-1], Scripted):
        raise NotScripted("randomness of its own")
    return [np.asarray(one) for one in arguments if not isinstance(one, np.random.Generator)]


def _shaped(tokens: Array, contract: str, arguments: Sequence[Array]) -> Array:
    """An answer in the shape of its contract: a batch has a row for each of its sequences."""
    if contract not in BATCHES:
        return tokens
    place, sizes = BATCHES[contract]
    batch, width = sizes(arguments[place])
    if len(tokens) != batch * width:
        raise Broken(f"answers with {len(tokens)} tokens; expected {batch} rows of {width}, padded with -1")
    return tokens.reshape(batch, width)


class _Running:
    """The process, and what goes in and out of it."""

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self.parent = os.getpid()
        try:
            self.process = subprocess.Popen(
                [program(words[0], folder), *words[1:]],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        except OSError as error:
            raise Broken(f"cannot be started: {error.strerror}") from None
        assert self.process.stdin is not None, "it is a pipe"
        assert self.process.stdout is not None, "it is a pipe"
        self.output, self.input = self.process.stdout.fileno(), self.process.stdin.fileno()
        os.set_blocking(self.output, False)
        os.set_blocking(self.input, False)
        self.complaints: deque[bytes] = deque(maxlen=REMEMBERED)
        self.listener = threading.Thread(target=self._listen, args=(self.process.stderr,), daemon=True)
        self.listener.start()
        self.received = bytearray()

    def greet(self, contract: str, seed: int) -> None:
        """Exchange greetings; raises :class:`Broken` unless they fit."""
        self._converse(
            protocol.greeting(contract, seed), lambda: b"\n" in self.received or len(self.received) > protocol.LINE
        )
        line, _, rest = bytes(self.received).partition(b"\n")
        self.received = bytearray(rest)
        protocol.check_greeting(line, contract)

    def exchange(self, frame: bytes, calls: int) -> Array:
        """The words ``int64[n]`` of the frame that answers ``frame``."""

        def whole() -> bool:
            if len(self.received) < protocol.WORD:
                return False
            length = protocol.check_length(bytes(self.received[: protocol.WORD]), calls)
            return len(self.received) >= (1 + length) * protocol.WORD

        with contextlib.suppress(BlockingIOError):  # what it has written since, too, would be taken for the answer
            self.received += os.read(self.output, CHUNK)
        if self.received:
            raise Broken(f"writes {protocol.readable(bytes(self.received))} before it is asked")
        self._converse(frame, whole)
        end = (1 + protocol.check_length(bytes(self.received[: protocol.WORD]), calls)) * protocol.WORD
        words = np.frombuffer(bytes(self.received[protocol.WORD : end]), "<i8")
        del self.received[:end]
        return words

    def _converse(self, said: bytes, enough: Any) -> None:
        """Write what is said while reading what is answered, until that is enough."""
        left = memoryview(said)
        with selectors.DefaultSelector() as pipes:
            pipes.register(self.output, selectors.EVENT_READ)
            pipes.register(self.input, selectors.EVENT_WRITE)
            while not enough():
                for key, _ in pipes.select():
                    if key.fd == self.output:
                        received = os.read(self.output, CHUNK)
                        if not received:
                            raise Broken(self._ended())
                        self.received += received
                        continue
                    with contextlib.suppress(BlockingIOError):
                        try:
                            left = left[os.write(self.input, left[:CHUNK]) :]
                        except BrokenPipeError:
                            left = left[:0]  # why is known once its output has ended
                    if not left:
                        pipes.unregister(self.input)

    def _ended(self) -> str:
        """How it ended, in words."""
        try:
            status = self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            return f"closes its standard output before it has answered{self._partly()}"
        self.listener.join(ENDING)
        names = {each.value: each.name for each in signal.Signals}
        how = f"exit status {status}" if status >= 0 else f"killed by {names.get(-status, f'signal {-status}')}"
        said = b" ".join(self.complaints).strip()
        complaint = f"; it says {protocol.readable(said)}" if said else ""
        return f"ends before it has answered ({how}){self._partly()}{complaint}"

    def _partly(self) -> str:
        return f", in the middle of a frame, after {len(self.received)} bytes" if self.received else ""

    def _listen(self, stream: Any) -> None:
        """Remember the end of what it writes to its standard error."""
        buffered = io.BufferedReader(stream, CHUNK)  # byte by byte, what is written holds up whoever writes much
        with contextlib.suppress(OSError, ValueError):
            while line := buffered.readline(CHUNK):
                self.complaints.append(line.strip()[: protocol.LINE])

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

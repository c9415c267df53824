"""A case of a contract: the arguments of a call, how its result is read, and the law it must follow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.events import LONG, Events, Every
from simlab.messages import shown
from simlab.mutants.gated.contracts import known, law_of_rows

Function = Callable[..., Any]


class Broken(Exception):
    """A valid case that was not answered validly: an exception, or an output that is none."""


class Branch(NamedTuple):
    """One of the inputs a case can have: its probability, the input of a call, and edges a uniform may be cut at."""

    probability: float
    inputs: Any
    edges: Callable[[], Sequence[float]]


class Possible(NamedTuple):
    """How often the first draft can be kept without loss, and how often it is if the target's own token must match."""

    most: float
    matching: float


def of_rows(p: Array, q: Array) -> Possible:
    """What is possible for one draft from ``q[V]`` and the target ``p[V]``: 1 - TV and sum p q."""
    return Possible(float(np.minimum(p, q).sum()), float(p @ q))


class Case(ABC):
    """One input of a contract, or a law of inputs, and what has to come out.

    ``length`` is N, the number of tokens of a completed outcome; ``events`` are what is counted. Cases that are small
    have ``branches``, and then the first of the events are all outcomes, and ``law_of`` gives their law. Where
    ``both_ends``, everything the target can emit must come out with some coins at one of their ends. ``contract``
    is the one whose known faults are looked for in its law.
    """

    name: str
    length: int
    events: tuple[Events, ...]
    both_ends: bool = False
    contract: ClassVar[str] = ""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Its sizes, by the names of the axes of its contract."""
        return {}

    @property
    def dtype(self) -> str:
        """The precision of the rows that a call is given."""
        return "float64"

    @property
    def kinds(self) -> tuple[str, ...]:
        """What is particular about one that was drawn, and shared by many."""
        return ()

    @property
    def filled(self) -> Collection[int]:
        """Places, from 1 on, of the arguments that a call is there to fill."""
        return ()

    @abstractmethod
    def inputs(self, n: int, rng: np.random.Generator) -> Any:
        """What is drawn beforehand for n calls."""

    def prepare(self, inputs: Any) -> Any:
        """The ``inputs``, once what all calls with them share is made, so that none of these takes the time."""
        return inputs

    @abstractmethod
    def ask(self, function: Function, inputs: Any, i: int, rng: np.random.Generator) -> Tokens:
        """What ``function`` emits in call i: N tokens or fewer, or -1 where there is none.

        Raises :class:`Broken` where it is not valid; what the function raises is not caught.
        """

    @abstractmethod
    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        """``tokens[n, N]`` with p in place of -1."""

    @property
    def bugs(self) -> Collection[str]:
        """Names of the faults that are known of the contract."""
        return known(self.contract) if self.contract else ()

    @property
    def at_once(self) -> int:
        """Calls that are made in turn, where there is time."""
        return LONG if any(isinstance(events, Every) for events in self.events) else 1

    @property
    def branches(self) -> Sequence[Branch]:
        """Every input, where there are few."""
        return ()

    @property
    def possible(self) -> Possible | None:
        """What is possible for the first draft, in small cases that have one."""
        return None

    def kept(self, inputs: Any, tokens: Array) -> Array:
        """The part ``float[n]`` of first drafts that is kept in calls with these ``tokens[n, N]``, where possible."""
        return np.zeros(len(tokens))

    def law_of(self, emitted: Mapping[Tokens, float]) -> Array:
        """The law of the first of the events where this is emitted with these probabilities, completed by p."""
        raise NotImplementedError

    @cached_property
    def known_laws(self) -> Mapping[str, Array]:
        """Known bugs by name, and the law of the first of the events under each, where there is one."""
        laws = {name: self.law_under(name) for name in self.bugs}
        return {name: law for name, law in laws.items() if law is not None}

    @property
    def explained(self) -> bool:
        """Whether there is a law under any of them, of which the first is worked out."""
        return any(self.law_under(name) is not None for name in self.bugs)

    def law_under(self, name: str) -> Array | None:
        """That law under one of them; ``None`` where there is none."""
        return None

    @abstractmethod
    def call_arguments(self, inputs: Any, i: int) -> dict[str, Any]:
        """The arguments of call i, for people."""

    def script(self, where: str, name: str, calls: int) -> str | None:
        """A program that calls ``name`` of module ``where`` and counts outcomes beside the target, for small cases."""
        return None

    def once(self, contract: str, given: Sequence[str], uniforms: Sequence[float]) -> tuple[str, ...]:
        """Lines of a program that print what comes of the arguments ``given``; many times where no uniforms are.

        No lines where there is no such program: of a call whose coins are in its arrays.
        """
        call = f"{contract}({', '.join(given)}, {{}})".format
        if uniforms:
            return (f"print({call(f'Scripted({list(uniforms)})')})",)
        return ("rng = np.random.default_rng(0)", f"print({{str({call('rng')}) for _ in range(1000)}})")


class ArraysCase(Case):
    """A case whose call takes arrays and a generator: target and draft rows, and drafts drawn from the draft rows.

    A contract says which inputs there are, what is passed for one, and how an answer is read; enumeration, and the laws
    of the known bugs, follow. ``small`` cases list every input.
    """

    vocabulary: int
    small: bool

    @abstractmethod
    def arguments(self, given: Array) -> dict[str, Array]:
        """The arguments of a call with this input, by name, without the generator: new arrays."""

    @abstractmethod
    def every_input(self) -> Mapping[Any, float]:
        """Every input and its probability, as tuples; for small cases."""

    @abstractmethod
    def edges(self, given: Array) -> Sequence[float]:
        """Where rules could cut a uniform in a call with this input."""

    def as_input(self, key: Any) -> Array:
        """A key of :meth:`every_input` as the array that :meth:`arguments` takes."""
        return np.array(key, np.int64)

    def read(self, answer: Any) -> Tokens:
        """The tokens of an answer. Raises :class:`Broken` unless it is valid."""
        return as_emitted(answer, self.vocabulary, self.length)

    def flat(self, emitted: Any) -> Tokens | None:
        """What a known bug emits, as tokens of an outcome; ``None`` where there are too many."""
        return emitted if len(emitted) <= self.length else None

    @property
    def enumerated(self) -> bool:
        """Whether a callable is enumerated on it."""
        return self.small

    def ask(self, function: Function, inputs: Any, i: int, rng: np.random.Generator) -> Tokens:
        return self.read(function(*self.arguments(inputs[i]).values(), rng))

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        if not self.enumerated:
            return ()
        inputs = [(self.as_input(key), chance) for key, chance in self.every_input().items()]
        return tuple(Branch(chance, given[None], partial(self.edges, given)) for given, chance in inputs)

    def law_under(self, name: str) -> Array | None:
        if not self.small:
            return None
        emitted: dict[Tokens, float] = {}
        for key, chance in self.every_input().items():
            rows = self.arguments(self.as_input(key)).values()
            for answer, probability in law_of_rows(self.contract, known(self.contract)[name], *rows).items():
                tokens = self.flat(answer)
                if tokens is None:
                    return None
                emitted[tokens] = emitted.get(tokens, 0.0) + chance * probability
        return self.law_of(emitted)

    def call_arguments(self, inputs: Any, i: int) -> dict[str, Any]:
        return dict(self.arguments(inputs[i]))


COUNTING = """\
import numpy as np
from {where} import {name} as {contract}

{given}
rng = np.random.default_rng(0)
n, {sizes}
counts = np.zeros({shape})
for _ in range(n):
{call}
{target}
"""

TARGET = """\
target = {rows}[0]
for row in {rows}[1:]:
    target = np.multiply.outer(target, row)
"""

PRINTED = """\
for tokens in np.ndindex(target.shape):
    print(tokens, "{emitted}", counts[tokens] / n, "{wanted}", target[tokens])"""


def counting_script(**parts: str) -> str:
    """A program that calls a callable, counts outcomes, and prints them beside the target; see ``COUNTING``."""
    return COUNTING.format(**parts)


def as_emitted(answer: Any, vocabulary: int, most: int, least: int = 1) -> Tokens:
    """The tokens of an answer; raises :class:`Broken` unless it is ``least`` to ``most`` tokens of the vocabulary.

    Tuples, lists, arrays and tensors of whole numbers are welcome, also with leading dimensions of size 1.
    """
    values = answer.tolist() if hasattr(answer, "tolist") else answer
    if isinstance(values, int):
        values = [values]
    while isinstance(values, list | tuple) and len(values) == 1 and isinstance(values[0], list | tuple):
        values = values[0]
    if not isinstance(values, list | tuple):
        raise Broken(f"returns {shown(answer)}; expected tokens: a sequence of whole numbers")
    tokens = tuple(token.item() if hasattr(token, "item") else token for token in values)
    if not all(isinstance(token, int) and not isinstance(token, bool) for token in tokens):
        raise Broken(f"returns {shown(answer)}; expected tokens: a sequence of whole numbers")
    if not least <= len(tokens) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise Broken(f"returns {len(tokens)} tokens, {shown(answer)}; expected {wanted}")
    for token in tokens:
        if not 0 <= token < vocabulary:
            raise Broken(f"returns token {token}; expected 0 to {vocabulary - 1}")
    return tokens

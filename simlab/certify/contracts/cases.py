"""Cases of blocks: one sequence or several, handed over and read back as the layout of a contract says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise, product
from typing import Any, Protocol

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.arrays import DOUBLE, Arrays
from simlab.certify.contracts.base import (
    PRINTED,
    TARGET,
    ArraysCase,
    Function,
    Possible,
    counting_script,
    of_rows,
)
from simlab.certify.contracts.blocks import Block, Tokens
from simlab.certify.contracts.events import Events
from simlab.certify.contracts.layouts import DRAWN, Layout, Rows
from simlab.certify.contracts.scripted import LONGEST, possible_edges
from simlab.certify.contracts.verifying import VERIFY
from simlab.mutants.gated.chains import BATCH
from simlab.mutants.gated.contracts import known

MOST_NOISE = 12  # uniforms of a call whose noise is enumerated


class Completing(Protocol):
    """What completes the tokens of a sequence."""

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        """Draws from the target in place of -1."""


@dataclass(frozen=True, eq=False)
class BlocksCase(ArraysCase):
    """A block a sequence, and drafts drawn from its q.

    Of ``small`` ones all tokens together are looked at; those of ``few`` branches are enumerated. ``layout`` says how
    an operator is called, with ``arrays`` of one kind.
    """

    name: str
    blocks: tuple[Block, ...]
    events: tuple[Events, ...]
    small: bool = False
    few: bool = True
    both_ends: bool = False
    layout: Layout = VERIFY
    arrays: Arrays = DOUBLE

    @property
    def contract(self) -> str:  # type: ignore[override]
        return self.layout.name

    @property
    def vocabulary(self) -> int:  # type: ignore[override]
        return self.blocks[0].vocabulary

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many tokens each sequence is completed to."""
        return tuple(len(block.p) for block in self.blocks)

    @property
    def sizes(self) -> dict[str, int]:
        found = {"V": self.vocabulary, "gamma": max(self.widths) - 1}
        return found if self.layout.single else found | {"batch": len(self.widths)}

    @property
    def dtype(self) -> str:
        return self.arrays.dtype

    @property
    def length(self) -> int:  # type: ignore[override]
        return sum(self.widths)

    @property
    def enumerated(self) -> bool:
        return self.small and self.few and self._coins <= (MOST_NOISE if self.layout.noisy else LONGEST)

    @property
    def _coins(self) -> int:
        """Coins that one block is given."""
        if not (self.layout.single and self.layout.coins):
            return 0
        return self.length - 1 + (self.vocabulary * self.length if self.layout.noisy else 1)

    # A call ------------------------------------------------------------------------------------------------------

    def inputs(self, n: int, rng: np.random.Generator) -> Array:
        if self.layout.single:
            return self.blocks[0].drafts(n, rng)
        drafts = np.full((n, len(self.widths), max(self.widths) - 1), -1)
        for b, block in enumerate(self.blocks):
            drafts[:, b, : block.gamma] = block.drafts(n, rng)
        return drafts

    def ask(self, function: Function, inputs: Any, i: int, rng: np.random.Generator) -> Tokens:
        p, q = self.handed(inputs[i])
        return self.read(function(*self.layout.arguments(self.given_as, p, q, inputs[i], rng).values(), *self.behind))

    @property
    def given_as(self) -> Arrays:
        """The arrays of a call."""
        return self.arrays

    @property
    def behind(self) -> tuple[Any, ...]:
        """What is passed behind the arguments of the layout."""
        return ()

    def handed(self, given: Array) -> tuple[Array, Array]:
        """What is handed over of both sides; arguments are copies of it."""
        return self.rows(given)

    def rows(self, given: Array) -> tuple[Array, Array]:
        """p and q along drafts, zeros behind each gamma, which are kept where there are few: not to be changed."""
        if not (self.small or self._alike):
            return self._along(given)
        key = b"" if self._alike else given.tobytes()
        if key not in self._kept_rows:
            self._kept_rows[key] = self._along(given)
        return self._kept_rows[key]

    def _along(self, given: Array) -> tuple[Array, Array]:
        if self.layout.single:
            return self.blocks[0].rows(given)
        (batch, most), size = given.shape, self.vocabulary
        p, q = np.zeros((batch, most + 1, size)), np.zeros((batch, most, size))
        for b, block in enumerate(self.blocks):
            p[b, : block.gamma + 1], q[b, : block.gamma] = block.rows(given[b, : block.gamma])
        return p, q

    @cached_property
    def _alike(self) -> bool:
        """Whether rows depend on no draft."""
        return all(block.order == 0 for block in self.blocks)

    @cached_property
    def _kept_rows(self) -> dict[bytes, tuple[Array, Array]]:
        return {}

    def read(self, answer: Any) -> Tokens:
        return self.as_outcome(self.layout.read(answer, self.vocabulary, self.widths))

    def as_outcome(self, rows: Rows) -> Tokens:
        """The tokens of all sequences behind each other, of several with -1 behind those of each."""
        if self.layout.single:
            return rows[0]
        padded = ((*row, *[-1] * (width - len(row))) for row, width in zip(rows, self.widths, strict=True))
        return tuple(token for row in padded for token in row)

    def flat(self, emitted: Any) -> Tokens | None:
        rows: Rows = (emitted,) if self.layout.single else emitted
        fits = all(len(row) <= width for row, width in zip(rows, self.widths, strict=True))
        return self.as_outcome(rows) if fits else None

    # Laws --------------------------------------------------------------------------------------------------------

    def arguments(self, given: Array) -> dict[str, Array]:
        """p, q and drafts, as verifiers see them: in the precision of the rows; without q a draft is a point mass."""
        p, q = map(self.arrays.rounded, self.rows(given))
        if not self.layout.scored:
            q = np.asarray(given[..., None] == np.arange(self.vocabulary), np.float64)
        return {"p": p, "q": q, "drafts": given.copy()}

    def every_input(self) -> Mapping[Any, float]:
        if self.layout.single:
            return self.blocks[0].every_draft()
        found = {}
        for drawn in product(*(block.every_draft().items() for block in self.blocks)):
            found[tuple(tokens for tokens, _ in drawn)] = float(np.prod([chance for _, chance in drawn]))
        return found

    def as_input(self, key: Any) -> Array:
        """Drafts ``[gamma]``; of several sequences ``[B, gmax]`` padded with -1."""
        if self.layout.single:
            return super().as_input(key)
        most = max(self.widths) - 1
        return np.array([[*row, *[-1] * (most - len(row))] for row in key], np.int64).reshape(len(key), most)

    def edges(self, given: Array) -> Sequence[float]:
        p, q, _ = self.arguments(given).values()
        if self.layout.single:
            return possible_edges(p, q)
        each = [(p[b, : block.gamma + 1], q[b, : block.gamma]) for b, block in enumerate(self.blocks)]
        return sorted({edge for own in each for edge in possible_edges(*own)})

    @cached_property
    def possible(self) -> Possible | None:
        """The mean over sequences that have drafts.

        Without q nothing better than matching can be done: given any draft what comes out must follow p.
        """
        each = [of_rows(block.p[0][0], block.q[0][0]) for block in self.blocks if self.small and block.gamma]
        if not each:
            return None
        found = Possible(*np.mean(each, axis=0).tolist())
        return found if self.layout.scored else Possible(found.matching, found.matching)

    def kept(self, inputs: Array, tokens: Array) -> Array:
        starts, drafts = np.cumsum((0, *self.widths)), inputs[:, None] if self.layout.single else inputs
        drafted = [b for b, block in enumerate(self.blocks) if block.gamma]
        return np.stack([tokens[:, starts[b]] == drafts[:, b, 0] for b in drafted]).mean(axis=0)

    @property
    def completing(self) -> Sequence[Completing]:
        """What completes the tokens of each sequence."""
        return self.blocks

    def completed(self, tokens: Array, rng: np.random.Generator) -> Array:
        ends = np.cumsum(self.widths).tolist()
        parts = [
            one.completed(tokens[:, end - width : end], rng)
            for one, width, end in zip(self.completing, self.widths, ends, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def law_of(self, emitted: Mapping[Tokens, float]) -> Array:
        if self.layout.single:
            return self.blocks[0].law_of(emitted)
        law, ends = np.zeros(self.vocabulary**self.length), np.cumsum((0, *self.widths)).tolist()
        for tokens, probability in emitted.items():
            rows = [tuple(x for x in tokens[start:end] if x >= 0) for start, end in pairwise(ends)]
            parts = [block.law_of({row: 1.0}) for block, row in zip(self.blocks, rows, strict=True)]
            law += probability * reduce(np.multiply.outer, parts).ravel()
        return law

    def law_under(self, name: str) -> Array | None:
        if not self.small:
            return None
        fault = known(self.contract)[name]
        if not fault.pair and BATCH not in fault.needs and len(self.blocks) > 1:  # the sequences are independent
            laws = [replace(self, blocks=(block,), events=()).law_under(name) for block in self.blocks]
            found = [law for law in laws if law is not None]
            return reduce(np.multiply.outer, found).ravel() if len(found) == len(laws) else None
        return super().law_under(name)

    # For people --------------------------------------------------------------------------------------------------

    def call_arguments(self, inputs: Any, i: int) -> dict[str, Any]:
        handed = self.handed(inputs[i])
        given = self.layout.arguments(DOUBLE, *handed, inputs[i], np.random.default_rng(0))
        behind = dict(zip(self.layout.more, map(np.array, self.behind), strict=True))
        return {name: one for name, one in given.items() if name not in DRAWN} | behind

    def script(self, where: str, name: str, calls: int) -> str | None:
        if not (self.small and self._alike and self.layout.written):
            return None
        p, q = self.rows(self.inputs(1, np.random.default_rng(0))[0])
        given, program = [f"p = np.array({p.tolist()})", f"q = np.array({q.tolist()})"], ONE
        if not self.layout.single:
            given[1] += f".reshape({q.shape})"
            given, program = [*given, f"gammas = {[block.gamma for block in self.blocks]}"], SEVERAL
        if self.layout.coins:
            given.append(self.arrays.definitions)
        return counting_script(
            where=where,
            name=name,
            contract=self.layout.name,
            given="\n".join(given),
            sizes=program.sizes.format(calls=calls),
            shape=program.shape,
            call=program.call.format(call=self.arrays.read.format(self._call(self.layout.name))),
            target=program.target + PRINTED.format(emitted="emitted", wanted="target"),
        )

    def once(self, contract: str, given: Sequence[str], uniforms: Sequence[float]) -> tuple[str, ...]:
        if not self.layout.coins:
            return super().once(contract, given, uniforms)
        if not self.layout.written:
            return ()
        call, defined = self._call(contract), self.arrays.definitions.splitlines()
        if uniforms:
            return (*defined, f"rng = Scripted({list(uniforms)})", f"print({call})")
        return (*defined, "rng = np.random.default_rng(0)", f"print({{str({call}) for _ in range(1000)}})")

    def _call(self, contract: str) -> str:
        return f"{contract}({self.layout.written})"


@dataclass(frozen=True)
class Program:
    """Parts of a program that counts what comes out."""

    sizes: str
    shape: str
    call: str
    target: str


ONE = Program(
    "V = {calls}, p.shape[1]",
    "(V,) * len(p)",
    """\
    drafts = np.array([rng.choice(V, p=row) for row in q])
    tokens = [int(token) for token in np.ravel({call}) if token >= 0]
    tokens += [rng.choice(V, p=row) for row in p[len(tokens):]]  # completed by p
    counts[tuple(tokens)] += 1""",
    TARGET.format(rows="p"),
)
SEVERAL = Program(
    "V = {calls}, p.shape[2]",
    "(V,) * (sum(gammas) + len(gammas))",
    """\
    drafts = np.full(q.shape[:2], -1)
    for b, gamma in enumerate(gammas):
        drafts[b, :gamma] = [rng.choice(V, p=row) for row in q[b, :gamma]]
    together = []
    for b, row in enumerate({call}):
        tokens = [int(token) for token in row if token >= 0]
        tokens += [rng.choice(V, p=own) for own in p[b, len(tokens) : gammas[b] + 1]]  # completed by p
        together += tokens
    counts[tuple(together)] += 1""",
    """\
target = np.ones(())
for b, gamma in enumerate(gammas):
    for row in p[b, : gamma + 1]:
        target = np.multiply.outer(target, row)
""",
)

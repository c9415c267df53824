"""Operators of one block: ``chain_uniforms(p, q, drafts, uniforms, uniform) -> tokens`` and its kin.

``p[gamma + 1, V]``, ``q[gamma, V]`` and ``drafts[gamma]`` as in ``verify``; ``uniforms[gamma]`` are the coins of the
drafts. The token that ends the block is drawn with ``uniform``, or with noise ``[gamma + 1, V]``, a row for each
position it can be at. ``chain_tokens`` is not given q: a draft counts as the only one there could be, so that it is
accepted with p, and the law of what is emitted is right wherever drafts come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.certify.contracts.base import PRINTED, TARGET, Function, Possible, as_emitted, counting_script
from simlab.certify.contracts.blocks import Tokens
from simlab.certify.contracts.operators.arrays import SINGLE, Arrays
from simlab.certify.contracts.operators.layouts import UNIFORMS, Layout, unpadded
from simlab.certify.contracts.verifying import VerifyCase
from simlab.certify.engine.scripted import LONGEST, possible_edges

MOST_NOISE = 12  # uniforms of a call whose noise is enumerated


@dataclass(frozen=True, eq=False)
class ChainCase(VerifyCase):
    """A block whose operator is called as ``layout`` says, with ``arrays`` of one kind."""

    layout: Layout = UNIFORMS
    arrays: Arrays = SINGLE

    @property
    def contract(self) -> str:  # type: ignore[override]
        return self.layout.name

    @property
    def enumerated(self) -> bool:
        coins = self.block.gamma + (self.vocabulary * self.length if self.layout.noisy else 1)
        return self.small and coins <= (MOST_NOISE if self.layout.noisy else LONGEST)

    def ask(self, function: Function, inputs: Any, i: int, rng: np.random.Generator) -> Tokens:
        rows = self.rows(inputs[i])  # of which arguments are copies
        return self.read(function(*self.layout.arguments(self.arrays, *rows, inputs[i], rng).values()))

    def arguments(self, given: Array) -> dict[str, Array]:
        found = super().arguments(given)
        if "q" not in self.layout.given:
            found["q"][:] = 0
            found["q"][np.arange(len(given)), given] = 1
        return found

    @cached_property
    def possible(self) -> Possible | None:
        """Without q nothing better than matching can be done: given any draft x what comes out must follow p."""
        found = super().possible
        return found if found is None or "q" in self.layout.given else Possible(found.matching, found.matching)

    def edges(self, given: Array) -> list[float]:
        p, q, _ = self.arguments(given).values()
        return possible_edges(p, q)

    def read(self, answer: Any) -> Tokens:
        return as_emitted(unpadded(answer), self.vocabulary, self.length)

    def call_arguments(self, inputs: Any, i: int) -> dict[str, Any]:
        return {name: one for name, one in self.arguments(inputs[i]).items() if name in self.layout.given}

    def script(self, where: str, name: str, calls: int) -> str | None:
        if not self.small or self.block.order:
            return None
        p, q = ([table[0].tolist() for table in tables] for tables in (self.block.p, self.block.q))
        return counting_script(
            where=where,
            name=name,
            contract=self.layout.name,
            given=f"p = np.array({p})\nq = np.array({q})\n{self.arrays.definitions}",
            sizes=f"V = {calls}, p.shape[1]",
            shape="(V,) * len(p)",
            call=CALLED.format(call=self._call(self.layout.name)),
            target=TARGET.format(rows="p") + PRINTED.format(emitted="emitted", wanted="target"),
        )

    def once(self, contract: str, given: Sequence[str], uniforms: Sequence[float]) -> tuple[str, ...]:
        shown = f"print({self._call(contract)})"
        chance = f"Scripted({list(uniforms)})" if uniforms else "np.random.default_rng(0)"
        return (*self.arrays.definitions.splitlines(), f"rng = {chance}", shown)

    def _call(self, contract: str) -> str:
        return f"{contract}({self.layout.written})"


CALLED = """\
    drafts = np.array([rng.choice(V, p=row) for row in q])
    tokens = [int(token) for token in np.ravel({call}) if token >= 0]
    tokens += [rng.choice(V, p=row) for row in p[len(tokens):]]  # completed by p
    counts[tuple(tokens)] += 1"""

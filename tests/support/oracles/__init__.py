"""Slow second opinions: the papers' algorithms once more, in plain Python loops over tuples of ``Fraction``.

Nothing here uses rules, decoders, chance or laws of the project. Only the process is shared, and of it only
``row(prefix)``, the table it was made from. Everything is written the way the papers print it, one token at a
time, so that a mistake in the batched code is not repeated here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simlab.processes import TableProcess
from tests.support.oracles import relaxed, rules
from tests.support.oracles.rules import SlowRule, speculative
from tests.support.oracles.sequences import (
    Laws,
    block_law,
    hierarchical_law,
    jacobi_fixed_law,
    jacobi_law,
    speculative_law,
    target,
    traversal_law,
)
from tests.support.oracles.windows import Tree, window_law

RULES: dict[str, Callable[..., SlowRule]] = {
    "speculative": rules.speculative,
    "amplify": rules.amplify,
    "addition": rules.addition,
    "grouped": rules.grouped,
    "grouped-group-residual": rules.grouped_group_residual,
    "dynamic-grouped": rules.dynamic_grouped,
    "gsd-reference": rules.gsd_reference,
    "lantern": relaxed.lantern,
    "lantern-multiplicative": relaxed.lantern_multiplicative,
    "lantern-greedy": relaxed.lantern_greedy,
    "lantern-reference": relaxed.lantern_reference,
    "typical": relaxed.typical,
    "medusa-reference": relaxed.medusa_reference,
    "optimal-lossy": relaxed.optimal_lossy,
    "mixture": relaxed.mixture,
    "lenience": relaxed.lenience,
    "cactus": relaxed.cactus,
    "truncation": relaxed.truncation,
    "cascade": relaxed.cascade,
    "fuzzy": relaxed.fuzzy,
    "mars": relaxed.mars,
    "mars-reference": relaxed.mars_reference,
}


def decoder_laws(
    name: str, parameters: dict[str, Any], world: TableProcess, rule: SlowRule, draft: TableProcess | None = None
) -> Laws:
    """What the slow recursion of the decoder ``name`` gives for sequences and for steps."""
    own = {"bonus": True, "candidates": 4, "depth": 3, "tree": "comb", "shared": False, "kept": "first", **parameters}
    if name == "speculative":
        return speculative_law(world, draft, rule, **parameters)
    if name == "block":
        return block_law(world, draft, rule, **parameters)
    if name == "hierarchical":
        return hierarchical_law(world, draft, **parameters)
    if name == "traversal":
        return traversal_law(world, draft, **parameters)
    if name == "sjd-reference":
        return window_law(world, rule, parameters["window"] - 1, point_mass=True)
    chain = Tree(bonus=own["bonus"])
    window = {key: own[key] for key in ("window", "initial", "relabel") if key in own}
    if name in ("sjd", "sjd-unrefined"):
        return window_law(world, rule, **window, tree=chain, refine=name == "sjd")
    if name == "sjd-ac":
        return window_law(world, rule, **window, tree=chain, continues_after=0)
    wide = Tree(own["candidates"], own["depth"], own["tree"], own["shared"], own["bonus"])
    if name == "sjd-pd":
        return window_law(world, rule, **window, tree=wide)
    after = 0 if own["kept"] == "first" else min(own["depth"], own["window"])
    return window_law(world, rule, **window, tree=wide, continues_after=after)


__all__ = [
    "RULES",
    "decoder_laws",
    "hierarchical_law",
    "jacobi_fixed_law",
    "jacobi_law",
    "speculative",
    "target",
]

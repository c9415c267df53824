"""The registry of contracts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from simlab.certify.contracts import batches, candidates, decoding, drafting, verifying
from simlab.certify.contracts.base import Case
from simlab.certify.contracts.operators import batches as flat
from simlab.certify.contracts.operators import chains, logits, trees
from simlab.certify.contracts.operators.arrays import SINGLE, Arrays
from simlab.certify.contracts.operators.batches import FLAT, FLAT_TOKENS, PADDED, BatchLayout
from simlab.certify.contracts.operators.layouts import EXPONENTIAL, GUMBEL, TOKENS, UNIFORMS, Layout
from simlab.certify.contracts.operators.trees import PARENTS, SIBLINGS, TreeLayout
from simlab.certify.shapes import cases as drawn
from simlab.certify.shapes import trees as drawn_trees
from simlab.certify.shapes.ranges import BATCH, CANDIDATES, GAMMA, LENGTH, NODES, Axis, Shape, V
from simlab.processes.filters import FILTERS


@dataclass(frozen=True)
class Contract:
    """What is called how, and on what it is tried.

    Attributes
    ----------
    name
        What :func:`simlab.certify.certify` takes.
    signature
        The call in words, such as ``verify(p, q, drafts, rng) -> tokens``.
    cases
        Makes the cases that are sampled, the simplest first.
    both_ends
        Makes small ones that are not sampled: they are for given coins.
    simplest
        Makes small ones a failure is reduced to, from the smallest up.
    principal
        Names of the cases in which a pass needs the precision that was asked for; all of them where none is named. Of
        the others the bound is told, and it must exclude something.
    axes
        The sizes that a call has, from which shapes are drawn.
    drawn
        Makes a case of a shape.
    """

    name: str
    signature: str
    cases: Callable[[], Sequence[Case]]
    both_ends: Callable[[], Sequence[Case]]
    simplest: Callable[[], Iterable[Case]]
    principal: Collection[str]
    axes: tuple[Axis, ...]
    drawn: Callable[[Shape, np.random.Generator], Case]


def _chain(layout: Layout, arrays: Arrays) -> Contract:
    """An operator of one block."""
    return Contract(
        layout.name,
        layout.signature,
        partial(chains.cases, layout, arrays),
        partial(chains.both_ends, layout, arrays),
        partial(chains.simplest, layout, arrays),
        verifying.PRINCIPAL,
        (V, GAMMA),
        partial(drawn.chain, layout, arrays),
    )


def _batch(layout: BatchLayout, arrays: Arrays) -> Contract:
    """An operator of a batch."""
    if arrays.coarse:
        raise ValueError(f"arrays is {arrays.dtype}, for which {layout.name} has no cases; expected float32 or float64")
    return Contract(
        layout.name,
        layout.signature,
        partial(flat.cases, layout, arrays),
        partial(flat.both_ends, layout, arrays),
        partial(flat.simplest, layout, arrays),
        (),
        (V, GAMMA, BATCH),
        partial(drawn.operator_batch, layout, arrays),
    )


def _tree(layout: TreeLayout, arrays: Arrays) -> Contract:
    """An operator of trees."""
    if arrays.coarse:
        raise ValueError(f"arrays is {arrays.dtype}, for which {layout.name} has no cases; expected float32 or float64")
    return Contract(
        layout.name,
        layout.signature,
        partial(trees.cases, layout, arrays),
        partial(trees.both_ends, layout, arrays),
        partial(trees.simplest, layout, arrays),
        (),
        (V, NODES) if layout.single else (V, NODES, BATCH),
        partial(drawn_trees.trees, layout, arrays),
    )


def _logits(name: str, arrays: Arrays) -> Contract:
    """An operator of one block that is given logits."""
    if arrays.coarse:
        raise ValueError(f"arrays is {arrays.dtype}, for which {name} has no cases; expected float32 or float64")
    return Contract(
        name,
        logits.signature(name),
        partial(logits.cases, name, arrays),
        partial(logits.both_ends, name, arrays),
        partial(logits.simplest, name, arrays),
        (),
        (V, GAMMA),
        partial(drawn.logits, name, arrays),
    )


OPERATORS: dict[str, Callable[[Arrays], Contract]] = {
    **{layout.name: partial(_chain, layout) for layout in (UNIFORMS, EXPONENTIAL, GUMBEL, TOKENS)},
    **{layout.name: partial(_batch, layout) for layout in (PADDED, FLAT, FLAT_TOKENS)},
    **{layout.name: partial(_tree, layout) for layout in (PARENTS, SIBLINGS)},
    **{name: partial(_logits, name) for name in FILTERS},
}

CONTRACTS: dict[str, Contract] = {
    contract.name: contract
    for contract in (
        Contract(
            "verify",
            "verify(p, q, drafts, rng) -> tokens",
            verifying.cases,
            verifying.both_ends,
            verifying.simplest,
            verifying.PRINCIPAL,
            (V, GAMMA),
            drawn.verify,
        ),
        Contract(
            "verify_batch",
            "verify_batch(p, q, drafts, rng) -> tokens",
            batches.cases,
            batches.both_ends,
            batches.simplest,
            batches.PRINCIPAL,
            (V, GAMMA, BATCH),
            drawn.batch,
        ),
        Contract(
            "verify_candidates",
            "verify_candidates(p, q, candidates, rng) -> tokens",
            candidates.cases,
            candidates.both_ends,
            candidates.simplest,
            candidates.PRINCIPAL,
            (V, CANDIDATES),
            drawn.candidates,
        ),
        Contract(
            "decode",
            "decode(model, length, rng, eos=None) -> tokens",
            decoding.cases,
            decoding.both_ends,
            decoding.simplest,
            decoding.PRINCIPAL,
            (V, LENGTH),
            drawn.decode,
        ),
        Contract(
            "draft",
            "draft(q, rng) -> tokens",
            drafting.cases,
            drafting.both_ends,
            drafting.simplest,
            drafting.PRINCIPAL,
            (V, GAMMA),
            drawn.draft,
        ),
        *(operator(SINGLE) for operator in OPERATORS.values()),
    )
}


def contract_named(name: str, arrays: str | None = None) -> Contract:
    """A contract by its name.

    Parameters
    ----------
    name
        A key of ``CONTRACTS``.
    arrays
        For operators that receive their coins: which arrays they are given, as
        :meth:`~simlab.certify.contracts.operators.arrays.Arrays.named` takes it; ``numpy.float32`` unless given.

    Returns
    -------
    Contract
        The contract.

    Raises
    ------
    ValueError
        Where there is none of that name, no such arrays, or the contract does not take other arrays.
    """
    if name not in CONTRACTS:
        raise ValueError(f"contract is {name!r}; expected one of {', '.join(CONTRACTS)}")
    if arrays is None:
        return CONTRACTS[name]
    if name not in OPERATORS:
        raise ValueError(f"arrays is {arrays!r}, which the contract {name} does not take; {', '.join(OPERATORS)} do")
    return OPERATORS[name](Arrays.named(arrays))


def makes(name: str, arrays: str | None, dtype: str) -> Callable[[Shape, np.random.Generator], Case]:
    """What makes drawn cases of a contract, with rows in a precision; empty for that of ``arrays``.

    Raises
    ------
    ValueError
        Where the contract takes no other precision, NumPy has not got it, or there is no such device.
    """
    found = contract_named(name, arrays)
    if dtype:
        library = (arrays or "numpy").partition(".")[0]
        if name not in OPERATORS:
            raise ValueError(f"dtype is {dtype!r}, but {name} takes float64 alone; {', '.join(OPERATORS)} take others")
        if library == "numpy" and dtype == "bfloat16":
            raise ValueError("dtype is 'bfloat16', which NumPy has not; expected arrays of torch with it")
        kinds = Arrays(Arrays.named(library).library, dtype, "float32")
        found = OPERATORS[name](kinds)
    return found.drawn

"""The registry of contracts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType

from simlab.certify.battery import batches, candidates, decoding, drafting, logits, trees, verifying
from simlab.certify.contracts.arrays import DOUBLE, SINGLE, Arrays
from simlab.certify.contracts.base import Case
from simlab.certify.contracts.chains import EXPONENTIAL, GUMBEL, TOKENS, UNIFORMS
from simlab.certify.contracts.drafting import DRAFT
from simlab.certify.contracts.engines import FLAT, FLAT_TOKENS, PADDED
from simlab.certify.contracts.layouts import Layout
from simlab.certify.contracts.logits import LOGITS
from simlab.certify.contracts.trees import PARENTS, SIBLINGS
from simlab.certify.contracts.verifying import BATCH as VERIFY_BATCH
from simlab.certify.contracts.verifying import VERIFY
from simlab.certify.shapes import cases as drawn
from simlab.certify.shapes import trees as drawn_trees
from simlab.certify.shapes.drawing import Drawn
from simlab.certify.shapes.ranges import BATCH, CANDIDATES, GAMMA, LENGTH, NODES, Axis, V
from simlab.registry import meant


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
        Names of the cases in which a pass needs the precision that was asked for, or all do if none of these is within
        ``at_most``. Of the others the bound is told, and it must exclude something.
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
    drawn: Drawn

    def within(self, most: Mapping[str, int]) -> Contract:
        """The same with those of its cases alone that have at most these sizes; drawn ones are as their shapes."""
        if not most:
            return self

        def fits(case: Case) -> bool:
            return all(case.sizes.get(name, 0) <= size for name, size in most.items())

        return replace(
            self,
            cases=lambda: tuple(filter(fits, self.cases())),
            both_ends=lambda: tuple(filter(fits, self.both_ends())),
            simplest=lambda: filter(fits, self.simplest()),
        )


def _own(of: ModuleType, signature: str, axes: tuple[Axis, ...], made: Drawn) -> Contract:
    """A contract whose code draws for itself, of the module with its battery."""
    name = signature.partition("(")[0]
    return Contract(name, signature, of.cases, of.both_ends, of.simplest, of.PRINCIPAL, axes, made)


@dataclass(frozen=True)
class ContractFactory:
    """A contract by its layout: the module with its battery, and what makes drawn cases.

    ``coarse`` is whether its battery has cases for rows in eight bits.
    """

    of: ModuleType
    layout: Layout
    axes: tuple[Axis, ...]
    made: Callable[..., Case] = drawn.blocks
    coarse: bool = False

    def __call__(self, arrays: Arrays) -> Contract:
        """The contract with these arrays. Raises ``ValueError`` where there are no cases for them."""
        self._has(self.coarse, arrays, "arrays")
        cases, both_ends, simplest = (
            partial(make, self.layout, arrays) for make in (self.of.cases, self.of.both_ends, self.of.simplest)
        )
        name, made = self.layout.name, self.drawn(arrays)
        return Contract(name, self.layout.signature, cases, both_ends, simplest, self.of.PRINCIPAL, self.axes, made)

    def drawn(self, arrays: Arrays) -> Drawn:
        """What makes drawn cases with these arrays. Raises ``ValueError`` where there are none."""
        self._has(self.made is drawn.blocks, arrays, "dtype")  # of blocks there are rows that few bits hold
        return partial(self.made, self.layout, arrays.of_any_shape)

    def _has(self, coarse: bool, arrays: Arrays, what: str) -> None:
        if arrays.coarse and not coarse:
            name = self.layout.name
            raise ValueError(f"{what} is {arrays.dtype}, for which {name} has no cases; expected float32 or float64")


def _operators() -> Iterator[ContractFactory]:
    for chain in (UNIFORMS, EXPONENTIAL, GUMBEL, TOKENS):
        yield ContractFactory(verifying, chain, (V, GAMMA), coarse=True)
    for batch in (PADDED, FLAT, FLAT_TOKENS):
        yield ContractFactory(batches, batch, (V, GAMMA, BATCH))
    for tree in (PARENTS, SIBLINGS):
        yield ContractFactory(trees, tree, (V, NODES) if tree.single else (V, NODES, BATCH), drawn_trees.trees)
    for filtered in LOGITS:
        yield ContractFactory(logits, filtered, (V, GAMMA), drawn.logits)


OPERATORS: dict[str, ContractFactory] = {operator.layout.name: operator for operator in _operators()}
CONTRACTS: dict[str, Contract] = {
    contract.name: contract
    for contract in (
        ContractFactory(verifying, VERIFY, (V, GAMMA))(DOUBLE),
        ContractFactory(batches, VERIFY_BATCH, (V, GAMMA, BATCH))(DOUBLE),
        _own(candidates, "verify_candidates(p, q, candidates, rng) -> tokens", (V, CANDIDATES), drawn.candidates),
        _own(decoding, "decode(model, length, rng, eos=None) -> tokens", (V, LENGTH), drawn.decode),
        _own(drafting, DRAFT.signature, (V, GAMMA), drawn.draft),
        *(operator(SINGLE) for operator in OPERATORS.values()),
    )
}


def contract_named(name: str, arrays: str | None = None) -> Contract:
    """A contract by its name.

    Returns the contract. Raises ``ValueError`` where there is none of that name, no such arrays, or the contract does
    not take other arrays.

    Parameters
    ----------
    name
        A key of ``CONTRACTS``.
    arrays
        For operators that receive their coins: which arrays they are given, as
        :meth:`~simlab.certify.contracts.arrays.Arrays.named` takes it; ``numpy.float32`` unless given.
    """
    if name not in CONTRACTS:
        raise ValueError(f"contract is {name!r}; {meant(name, CONTRACTS)}expected one of {', '.join(CONTRACTS)}")
    if arrays is None:
        return CONTRACTS[name]
    if name not in OPERATORS:
        raise ValueError(f"arrays is {arrays!r}, which the contract {name} does not take; {', '.join(OPERATORS)} do")
    return OPERATORS[name](Arrays.named(arrays))


def makes(name: str, arrays: str | None, dtype: str) -> Drawn:
    """What makes drawn cases of a contract, with rows in a precision; empty for that of ``arrays``.

    Raises ``ValueError`` where the contract takes no other precision, NumPy has not got it, or there is no such device.
    """
    found = contract_named(name, arrays)
    if dtype:
        library = (arrays or "numpy").partition(".")[0]
        if name not in OPERATORS:
            raise ValueError(f"dtype is {dtype!r}, but {name} takes float64 alone; {', '.join(OPERATORS)} take others")
        if library == "numpy" and dtype == "bfloat16":
            raise ValueError("dtype is 'bfloat16', which NumPy has not; expected arrays of torch with it")
        return OPERATORS[name].drawn(Arrays(Arrays.named(library).library, dtype, "float32"))
    return found.drawn

"""The registry of contracts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from simlab.certify.contracts import batches, candidates, decoding, drafting, verifying
from simlab.certify.contracts.base import Case


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
    """

    name: str
    signature: str
    cases: Callable[[], Sequence[Case]]
    both_ends: Callable[[], Sequence[Case]]
    simplest: Callable[[], Iterable[Case]]


CONTRACTS: dict[str, Contract] = {
    contract.name: contract
    for contract in (
        Contract(
            "verify",
            "verify(p, q, drafts, rng) -> tokens",
            verifying.cases,
            verifying.both_ends,
            verifying.simplest,
        ),
        Contract(
            "verify_batch",
            "verify_batch(p, q, drafts, rng) -> tokens",
            batches.cases,
            batches.both_ends,
            batches.simplest,
        ),
        Contract(
            "verify_candidates",
            "verify_candidates(p, q, candidates, rng) -> tokens",
            candidates.cases,
            candidates.both_ends,
            candidates.simplest,
        ),
        Contract(
            "decode",
            "decode(model, length, rng, eos=None) -> tokens",
            decoding.cases,
            decoding.both_ends,
            decoding.simplest,
        ),
        Contract(
            "draft",
            "draft(q, rng) -> tokens",
            drafting.cases,
            drafting.both_ends,
            drafting.simplest,
        ),
    )
}


def contract_named(name: str) -> Contract:
    """A contract by its name.

    Parameters
    ----------
    name
        A key of ``CONTRACTS``.

    Returns
    -------
    Contract
        The contract.

    Raises
    ------
    ValueError
        Where there is none of that name.
    """
    if name not in CONTRACTS:
        raise ValueError(f"contract is {name!r}; expected one of {', '.join(CONTRACTS)}")
    return CONTRACTS[name]

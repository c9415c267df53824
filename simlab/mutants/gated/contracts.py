"""Contracts: how the arguments of a call are read, and how its tokens are given back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from simlab.arrays import Array
from simlab.mutants.gated import candidates, chain_faults, chains, decoding, drafting, logits, trees
from simlab.mutants.gated.base import (
    GENERATOR,
    Block,
    Call,
    Fault,
    Generated,
    Given,
    OverCoins,
    Source,
    Take,
    Wrong,
    perturbed,
    raced,
)
from simlab.mutants.gated.chains import BATCH, BONUS_ROW, CDF, RACE, UNIFORM, Q
from simlab.mutants.gated.gates import ALWAYS, NEVER, Gate
from simlab.mutants.gated.trees import Tree
from simlab.processes.filters import FILTERS, Settings
from simlab.randomness.coins import Coins, SampledCoins, outcomes

Answer = Callable[[Block, Source, Wrong], Any]
Read = Callable[..., tuple[Call, Source]]
Result = Callable[[Call, list[Any]], Any]
Implementation = Callable[..., Any]
Rows = tuple[Array, Array | None, Array]  # p, q and drafts of a sequence


@dataclass(frozen=True)
class Contract:
    """A contract that wrong implementations can have.

    Attributes
    ----------
    name, group
        What it is called, and which reference its faults act in: ``chain``, ``draft``, ``candidates``, ``tree`` or
        ``decode``.
    faults, right, answer
        Those faults, what is right, and what the reference emits for a block.
    read
        The call and its coins, of the arguments.
    result
        The result, of the call and the answers.
    has
        What of a call faults and gates can need.
    """

    name: str
    group: str
    faults: Mapping[str, Fault]
    right: Fault
    answer: Answer
    read: Read
    result: Result
    has: Set[str]

    def fits(self, fault: Fault, gate: Gate) -> bool:
        """Whether both can be in code that is called so."""
        return fault.needs | gate.needs <= self.has

    def over(self, coins: Coins, *rows: Array) -> Call:
        """The call of rows; where bonus tokens are given, they are drawn with these coins."""
        if self.group == "draft":
            return called([(rows[0], rows[0], np.zeros(len(rows[0]), np.int64))])
        p, q, drafts = rows
        if self.group == "candidates":
            return called([(p[None], q[None], drafts.copy())])
        return self.of_sequences(coins, _parts(p, q, drafts) if BATCH in self.has else [(p, q, drafts)])

    def of_sequences(self, coins: Coins, sequences: Iterable[Rows]) -> Call:
        """The call of a verifier of chains for p ``[gamma + 1, V]``, q ``[gamma, V]`` and drafts of each sequence."""
        call, given = Call(), "bonus tokens" in self.has
        for p, q, drafts in sequences:
            bonus = None
            if given:
                there = np.flatnonzero(p[-1])
                p, bonus = p[:-1], int(there[coins.draw(p[-1][there])])
            call.add(p, q if Q in self.has else None, drafts, bonus)
        return call


class Gated:
    """An implementation with a fault behind a gate; it counts its calls."""

    def __init__(self, contract: Contract, wrong: Wrong) -> None:
        self.contract, self.wrong = contract, wrong
        self.number, self.before = 0, Call()

    def __call__(self, *arguments: Any) -> Any:
        call, source = self.contract.read(*arguments)
        call.number, call.before = self.number, self.before
        self.number += 1
        fault = self.wrong.fault
        if fault.streams and isinstance(source, Generated) and bool(self.wrong.inside(call.blocks[0], 0)):
            source = Generated(fault.streams(call, source.rng))
        answers = [self.contract.answer(block, source, self.wrong) for block in call.blocks]
        call.before = None
        if fault.stale:
            self.before = call
        return self.contract.result(call, answers)


def implementation(fault: str, gate: Gate, contract: str) -> Implementation:
    """A callable of a contract that is right outside the gate, and has the fault inside."""
    return _callable(contract, Wrong(CONTRACTS[contract].faults[fault], gate))


def reference(contract: str) -> Implementation:
    """The same code without a fault."""
    return _callable(contract, Wrong(CONTRACTS[contract].right, NEVER))


def variants(contract: str) -> dict[str, Implementation]:
    """Callables of a contract of chains, or of ``decode``, that do it in another way, and rightly."""
    of = CONTRACTS[contract]
    known: dict[str, Mapping[str, Fault]] = {"chain": chain_faults.VARIANTS, "decode": decoding.VARIANTS}
    ways = known.get(of.group, {})
    return {name: _callable(contract, Wrong(one)) for name, one in ways.items() if one.needs <= of.has}


NO_COINS = SampledCoins(np.random.default_rng(0))  # that are asked for nothing
SMALL = 8  # tokens from which a fault can be seen in cases whose laws are enumerated


@cache
def known(contract: str) -> dict[str, Fault]:
    """The faults of a contract that the law of a single small call shows; none of one that has no wrong code yet."""
    of = CONTRACTS.get(contract)
    if of is None:
        return {}
    return {
        name: fault
        for name, fault in of.faults.items()
        if fault.known and of.fits(fault, ALWAYS) and fault.least <= SMALL and "logits" not in fault.needs
    }


def over_coins(contract: str, fault: Fault) -> Callable[..., Any]:
    """What a fault emits for rows, and coins that may be enumerated.

    ``contract``: one of chains, of drafts, or of candidates. ``fault``: one of it, or what is right. Returns a function
    of p, q and drafts as the contract that takes a generator is given them, and coins in its place; of one block,
    tokens; of a batch, those of every sequence.
    """
    of, wrong = CONTRACTS[contract], Wrong(fault)

    return lambda *given: _emitted(of, wrong, of.over(given[-1], *given[:-1]), given[-1])


def law_of_rows(contract: str, fault: Fault, *rows: Array) -> dict[Any, float]:
    """The law of what :func:`over_coins` emits; only bonus tokens make the calls of one input differ."""
    of, wrong = CONTRACTS[contract], Wrong(fault)
    if "bonus tokens" in of.has:
        return outcomes(lambda coins: _emitted(of, wrong, of.over(coins, *rows), coins))
    call = of.over(NO_COINS, *rows)
    return outcomes(lambda coins: _emitted(of, wrong, call.again(), coins))


def _emitted(of: Contract, wrong: Wrong, call: Call, coins: Coins) -> Any:
    source = OverCoins(coins)
    found = [tuple(of.answer(block, source, wrong)) for block in call.blocks]
    return tuple(found) if BATCH in of.has else found[0]


def _callable(contract: str, wrong: Wrong) -> Implementation:
    return decoding.Decoding(wrong) if contract == "decode" else Gated(CONTRACTS[contract], wrong)


# How arguments are read --------------------------------------------------------------------------------------------


def called(sequences: Iterable[Rows]) -> Call:
    """The call of these sequences."""
    call = Call()
    for p, q, drafts in sequences:
        call.add(p, q, drafts)
    return call


def _parts(p: Array, q: Array, drafts: Array) -> Iterator[Rows]:
    """The sequences of a batch that is padded: behind its drafts one has -1."""
    for b, gamma in enumerate((drafts >= 0).sum(axis=1).tolist()):
        yield p[b, : gamma + 1], q[b, :gamma], drafts[b, :gamma]


def _verify(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> tuple[Call, Source]:
    return called([(p, q, drafts)]), Generated(rng)


def _verify_batch(p: Array, q: Array, drafts: Array, rng: np.random.Generator) -> tuple[Call, Source]:
    return called(_parts(p, q, drafts)), Generated(rng)


def _candidates(p: Array, q: Array, drawn: Array, rng: np.random.Generator) -> tuple[Call, Source]:
    return called([(p[None], q[None], drawn)]), Generated(rng)


def _draft(q: Array, rng: np.random.Generator) -> tuple[Call, Source]:
    return called([(q, q, np.zeros(len(q), np.int64))]), Generated(rng)


def _chain_uniforms(p: Array, q: Array | None, drafts: Array, uniforms: Array, uniform: Any) -> tuple[Call, Source]:
    return called([(p, q, drafts)]), Given(lambda b: uniforms, lambda b, i: uniform)


def _chain_noise(take: Take, p: Array, q: Array, drafts: Array, uniforms: Array, noise: Array) -> tuple[Call, Source]:
    return called([(p, q, drafts)]), Given(lambda b: uniforms, lambda b, i: noise[i], take)


def _chain_tokens(p: Array, *others: Any) -> tuple[Call, Source]:
    return _chain_uniforms(p, None, *others)


def _batch_uniforms(q: Array, drafts: Array, uniforms: Array, p: Array) -> tuple[Call, Source]:
    return called(zip(p, q, drafts, strict=True)), Given(lambda b: uniforms[b, :-1], lambda b, i: uniforms[b, -1])


def _flat_exponential(
    drafts: Array, ends: Array, q: Array | None, p: Array, bonus: Array, uniforms: Array, noise: Array
) -> tuple[Call, Source]:
    call, parts = Call(), [slice(*part) for part in pairwise([0, *ends.tolist()])]
    for b, rows in enumerate(parts):
        call.add(p[rows], None if q is None else q[rows], drafts[rows], int(bonus[b, 0]))
    return call, Given(lambda b: uniforms[parts[b]], lambda b, i: noise[b], raced)


def _flat_tokens(drafts: Array, ends: Array, *others: Any) -> tuple[Call, Source]:
    return _flat_exponential(drafts, ends, None, *others)


def _chain_logits(
    contract: str, target: Array, draft: Array, drafts: Array, uniforms: Array, uniform: Any, *settings: Any
) -> tuple[Call, Source]:
    call = logits.read(contract, target, draft, drafts, Settings(*settings))
    return call, Given(lambda b: uniforms, lambda b, i: uniform)


def _tree_parents(p: Array, tokens: Array, parents: Array, uniforms: Array, uniform: Any) -> tuple[Call, Source]:
    call = Call()
    call.trees.append(Tree.of_parents(p, tokens.tolist(), parents.tolist(), call))
    return call, Given(lambda b: uniforms, lambda b, i: uniform)


def _tree_siblings(
    predicts: Array,
    accept_index: Array,
    accept_token_num: Array,
    tokens: Array,
    index: Array,
    first_child: Array,
    next_sibling: Array,
    uniforms: Array,
    last: Array,
    p: Array,
    q: Array,
) -> tuple[Call, Source]:
    call = Call()
    for b in range(len(tokens)):
        parents = _parents(first_child[b].tolist(), next_sibling[b].tolist())
        call.trees.append(Tree.of_parents(p[b], tokens[b].tolist(), parents, call))
    call.outputs = predicts, accept_index, accept_token_num, index
    return call, Given(lambda b: uniforms[b], lambda b, i: last[b])


def _parents(first_child: list[int], next_sibling: list[int]) -> list[int]:
    """The parent of every node; siblings come in rising order, as engines number them."""
    found = [-1] * len(first_child)
    for node, child in enumerate(first_child):
        while child != -1:
            found[child] = node
            child = next_sibling[child]
    return found


def _walked(block: Block, source: Source, wrong: Wrong) -> Any:
    return trees.walked(block.call.trees[block.sequence], source, wrong)


# How tokens are given back -----------------------------------------------------------------------------------------


def _alone(call: Call, answers: list[Any]) -> Any:
    return answers[0]


def _listed(call: Call, answers: list[Any]) -> Any:
    return answers


def _padded(call: Call, answers: list[Any]) -> Any:
    found = np.full((len(answers), max(call.widest + 1, *(len(row) for row in answers), 1)), -1)
    for b, row in enumerate(answers):
        found[b, : len(row)] = row
    return found


def _path(call: Call, answers: list[Any]) -> Any:
    (path, last), tree = answers[0], call.trees[0]
    return [*(tree.tokens[node] for node in path), last]


def _paths_filled(call: Call, answers: list[Any]) -> None:
    predicts, accept_index, accept_token_num, index = call.outputs
    for b, (path, last) in enumerate(answers):
        at = index[b, [0, *path]]
        predicts[at] = [*(call.trees[b].tokens[node] for node in path), last]
        accept_index[b, : len(at)] = at
        accept_token_num[b] = len(path)


# All of them -------------------------------------------------------------------------------------------------------


def _read_by_itself(*arguments: Any) -> tuple[Call, Source]:
    raise NotImplementedError("a decoder makes its blocks as it goes on")


def _made() -> tuple[Contract, ...]:
    chain = "chain", chain_faults.FAULTS, chains.RIGHT, chains.emitted
    of_logits = "chain", logits.FAULTS, chains.RIGHT, chains.emitted
    several = "candidates", candidates.FAULTS, candidates.RIGHT, candidates.taken
    draft = "draft", drafting.FAULTS, drafting.RIGHT, drafting.drafted
    tree = "tree", trees.FAULTS, trees.RIGHT, _walked
    decode = "decode", decoding.FAULTS, decoding.RIGHT, chains.emitted
    whole = {Q, BONUS_ROW, UNIFORM, CDF}
    noisy = {Q, BONUS_ROW, UNIFORM, "calls"}
    flat = {UNIFORM, RACE, BATCH, "ragged", "bonus tokens", "calls"}
    return (
        Contract("verify", *chain, _verify, _alone, {*whole, GENERATOR, "calls"}),
        Contract("verify_batch", *chain, _verify_batch, _listed, {*whole, GENERATOR, BATCH, "ragged", "calls"}),
        Contract("chain_uniforms", *chain, _chain_uniforms, _alone, {*whole, "calls"}),
        Contract("chain_exponential", *chain, partial(_chain_noise, raced), _alone, {*noisy, RACE}),
        Contract("chain_gumbel", *chain, partial(_chain_noise, perturbed), _alone, noisy),
        Contract("chain_tokens", *chain, _chain_tokens, _alone, {BONUS_ROW, UNIFORM, CDF, "calls"}),
        Contract("batch_uniforms", *chain, _batch_uniforms, _padded, {*whole, BATCH, "calls"}),
        Contract("flat_exponential", *chain, _flat_exponential, _padded, {Q, *flat}),
        Contract("flat_tokens", *chain, _flat_tokens, _padded, flat),
        Contract("verify_candidates", *several, _candidates, _alone, {Q, UNIFORM, GENERATOR}),
        Contract("draft", *draft, _draft, _alone, {GENERATOR}),
        *(
            Contract(name, *of_logits, partial(_chain_logits, name), _alone, {*whole, "logits", "calls"})
            for name in FILTERS
        ),
        Contract("tree_parents", *tree, _tree_parents, _path, {"calls"}),
        Contract("tree_siblings", *tree, _tree_siblings, _paths_filled, {BATCH, "calls"}),
        Contract("decode", *decode, _read_by_itself, _alone, {*whole, GENERATOR}),
    )


CONTRACTS: dict[str, Contract] = {contract.name: contract for contract in _made()}

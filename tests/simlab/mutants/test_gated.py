"""Wrong implementations by design: references are exact, faults deviate, and gates let them in where they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from simlab.certify import certify
from simlab.certify.contracts.registry import CONTRACTS as CERTIFIED
from simlab.mutants import (
    batch_operators,
    candidates,
    drafters,
    generator_verifiers,
    logit_operators,
    operators,
    tree_operators,
)
from simlab.mutants.catalogue import sampled
from simlab.mutants.gated import candidates as gated_candidates
from simlab.mutants.gated import chains, drafting, trees
from simlab.mutants.gated.base import Block, Call, OverCoins, Wrong
from simlab.mutants.gated.contracts import CONTRACTS, Contract, implementation, reference
from simlab.mutants.gated.correct import CORRECT
from simlab.mutants.gated.deviations import (
    COUNTS,
    ENOUGH,
    LENGTHS,
    OF_LOGITS,
    ROWS,
    SIZES,
    Hard,
    Scene,
    deviation,
    measured,
)
from simlab.mutants.gated.gates import ALWAYS, GATES, NEVER, Gate
from simlab.randomness.coins import Coins, outcomes

pytestmark = pytest.mark.exact

ROUNDING = 1e-12
LOOP = "the loop of the papers, in single precision"
LAWS = (  # contracts that differ in the law that a fault comes to
    *("verify", "verify_batch", "chain_tokens", "flat_exponential", "flat_tokens"),
    *("chain_logits", "chain_logits_joint", "verify_candidates", "draft", "decode", "tree_parents", "tree_siblings"),
)
Law = Mapping[Any, float]


def small_scene(of: Contract) -> Scene:
    """A small shape, of which the last sequence and the first position are hard."""
    batch = 2 if "batch" in of.has else 1
    return Scene(8, 2, batch, batch - 1, 0 if of.group != "decode" else 1)


def rows_of(of: Contract) -> tuple[Hard, ...]:
    """Hard rows for a contract, with the settings of logits."""
    return OF_LOGITS if "logits" in of.has else ROWS


# References --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_without_a_fault_the_law_is_the_target(name: str) -> None:
    of = CONTRACTS[name]
    for rows in rows_of(of):
        for position in (0, 1):
            scene = Scene(8, 2, 2 if "batch" in of.has else 1, 0, position)
            assert measured(scene, rows, Wrong(of.right, ALWAYS), of).tv < ROUNDING


@pytest.mark.parametrize("name", LAWS)
def test_behind_a_closed_gate_every_fault_is_exactly_lossless(name: str) -> None:
    of = CONTRACTS[name]
    for fault in of.faults.values():
        if of.fits(fault, NEVER):
            assert measured(small_scene(of), rows_of(of)[0], Wrong(fault, NEVER), of).tv < ROUNDING, fault.name


def row_by_row(p: Any, q: Any, drafts: Any, rng: np.random.Generator) -> list[Any]:
    """All coins of a sequence at once, one sequence after the other."""
    gammas = (drafts >= 0).sum(axis=1).tolist()
    verify = generator_verifiers.all_coins_at_once
    return [verify(p[b, : n + 1], q[b, :n], drafts[b, :n], rng) for b, n in enumerate(gammas)]


def by_noise(draw: Callable[[Any, Any], int]) -> Callable[..., list[int]]:
    """The loop of the papers, with the noise of the position at which a block ends."""

    def verify(p: Any, q: Any, drafts: Any, uniforms: Any, noise: Any) -> list[int]:
        for i, x in enumerate(drafts.tolist()):
            if not uniforms[i] * q[i, x] < p[i, x]:
                return [*drafts[:i].tolist(), draw(chains.excess(p[i], q[i]), noise[i])]
        return [*drafts.tolist(), draw(p[-1], noise[-1])]

    return verify


KNOWN: dict[str, Any] = {  # that ask for as many coins in the same order
    "verify": generator_verifiers.all_coins_at_once,
    "verify_batch": row_by_row,
    "draft": sampled(drafters.lossless),
    **{name: operators.CORRECT[name][LOOP] for name in ("chain_uniforms", "chain_tokens")},
    "chain_exponential": by_noise(operators.raced),
    "chain_gumbel": by_noise(operators.perturbed),
    "batch_uniforms": batch_operators.padded(last=lambda kept, gamma: gamma),
    **{name: batch_operators.CORRECT[name][LOOP] for name in ("flat_exponential", "flat_tokens")},
    "tree_parents": tree_operators.CORRECT["tree_parents"]["siblings in turn, in single precision"],
    "tree_siblings": tree_operators.CORRECT["tree_siblings"]["siblings in turn, in single precision"],
    **{name: logit_operators.CORRECT[name][LOOP] for name in logit_operators.CORRECT},
}


@pytest.mark.parity
@pytest.mark.parametrize("name", KNOWN)
def test_references_answer_as_known_implementations_do(name: str) -> None:
    """Token for token, with the same coins."""
    right, known = reference(name), KNOWN[name]
    for case in CERTIFIED[name].cases()[::4]:
        inputs = case.inputs(8, np.random.default_rng(0))
        for i in range(8):
            ours, theirs = (case.ask(run, inputs, i, np.random.default_rng([1, i])) for run in (right, known))
            assert ours == theirs, case.name


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CONTRACTS))
def test_the_certifier_enumerates_references_to_the_target(name: str) -> None:
    """No law that it enumerates and no coin that it forces is wrong."""
    found = certify(reference(name), name, calls=2, processes=0)
    assert found.failure is None, found.summary


@pytest.mark.parametrize("name", sorted(CORRECT))
def test_correct_ones_answer_validly(name: str) -> None:
    rng = np.random.default_rng(0)
    for function in CORRECT[name].values():
        for case in CERTIFIED[name].cases()[::5]:
            inputs = case.inputs(2, rng)
            for i in range(2):
                case.ask(function, inputs, i, rng)


# Faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAWS)
def test_every_fault_deviates_where_its_gate_is_open(name: str) -> None:
    """In the smallest shape that was looked at; ``ENOUGH`` is what a certificate has to find."""
    of = CONTRACTS[name]
    names = [fault.name for fault in of.faults.values() if of.fits(fault, ALWAYS)]
    if "logits" in of.has:  # the others are those of a chain
        names = [fault for fault in names if fault not in chains.FAULTS]
    weak = {fault: deviation(fault, ALWAYS, name).tv for fault in names}
    assert {fault: tv for fault, tv in weak.items() if tv < ENOUGH} == {}


def test_a_deviation_is_that_of_the_law_written_down_by_hand() -> None:
    """One draft of two tokens: residual drawn from p is off by (1 - a)(1 - r) with a the acceptance, r = p of it."""
    rows = Hard((0.5, 0.5), (0.75, 0.25), (0.5, 0.5), (0.5, 0.5))
    of = CONTRACTS["verify"]
    found = measured(Scene(2, 1), rows, Wrong(of.faults["residual drawn from p"]), of)
    assert found.tv == pytest.approx(0.25 * 0.5)
    assert found.exact


def test_a_gate_of_calls_counts_by_its_share() -> None:
    always = deviation("residual drawn from p", ALWAYS, "verify").tv
    assert deviation("residual drawn from p", GATES["one call in 7"], "verify").tv == pytest.approx(always / 7)


def test_a_fault_that_its_gate_keeps_out_does_not_deviate() -> None:
    assert deviation("first draft unverified", GATES["position > 31"], "verify").tv < ROUNDING
    assert deviation("row of p of another sequence", ALWAYS, "verify").tv == 0  # there is no other


# Gates -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gate", GATES.values(), ids=lambda gate: gate.name)
def test_every_gate_opens_in_some_shape_and_not_in_all(gate: Gate) -> None:
    shapes = [{"V": V, "gamma": gamma, "batch": batch} for V in SIZES for gamma in LENGTHS for batch in COUNTS]
    if "batch" not in gate.needs:
        shapes = [shape for shape in shapes if shape["batch"] == 1]
    assert any(gate.reachable(shape) for shape in shapes)
    outside = gate.of in ("token", "row", "call", "position", "sequence")  # those are closed at some places of any
    assert outside or not all(gate.reachable(shape) for shape in shapes)


def test_gates_of_a_single_size_are_told_apart() -> None:
    single = {gate.name for gate in GATES.values() if gate.single}
    assert {"gamma = 77", "V = 50,257", "batch = 100", "position = 40"} <= single
    assert not {"gamma > 16", "V > 65,536", "9 <= gamma <= 15", "V odd", "gamma = 5", "position > 31"} & single
    assert GATES["one call in 7"].measure == pytest.approx(1 / 7)


def test_outside_its_gate_code_does_what_the_reference_does() -> None:
    """With the same coins, token for token; inside it does not."""
    rng = np.random.default_rng(0)
    same: dict[str, list[tuple[bool, bool]]] = {"gamma > 3": [], "V > 64": []}
    for gamma, V in ((2, 9), (5, 9), (2, 100)):
        p, q = rng.dirichlet(np.ones(V), gamma + 1), rng.dirichlet(np.ones(V), gamma)
        drafts = np.array([rng.choice(V, p=row) for row in q])
        for name, found in same.items():
            wrong, right = implementation("residual drawn from q", GATES[name], "verify"), reference("verify")
            tokens = [[run(p, q, drafts, np.random.default_rng(seed)) for seed in range(40)] for run in (wrong, right)]
            found.append((bool(GATES[name].reachable({"V": V, "gamma": gamma})), tokens[0] == tokens[1]))
    assert all(inside != alike for found in same.values() for inside, alike in found)


# Catalogues that were written by hand ------------------------------------------------------------------------------


def _law_of_block(p: Any, q: Any, drafts: Any, emitted: Callable[..., Any], fault: Any) -> Law:
    def run(coins: Coins) -> Any:
        call = Call()
        call.blocks.append(Block(p, q, drafts.copy(), call))
        return tuple(emitted(call.blocks[0], OverCoins(coins), Wrong(fault)))

    return outcomes(run)


def _alike(ours: Law, theirs: Law) -> bool:
    return all(abs(ours.get(one, 0.0) - theirs.get(one, 0.0)) < ROUNDING for one in ours.keys() | theirs.keys())


CHAINS = {
    "rows of p one position too early": "row of p one position too early",
    "rows of p one position too late": "row of p one position too late",
    "ratio inverted": "ratio inverted",
    "ratio times 1.2": "ratio times 1.2",
    "residual drawn from p": "residual drawn from p",
    "residual drawn from p without the rejected token": "p without the draft as residual",
    "residual = [q - p]+": "residual = [q - p]+",
    "residual not renormalised, the rest on the last token": "residual not scaled",
    "temperature applied to the residual again": "temperature 1/2 on the residual",
    "top-k applied to the residual again": "the largest of the residual",
    "first draft committed unverified": "first draft unverified",
    "last token of a block written twice": "last token of a block twice",
    "bonus drawn from the residual": "bonus from the residual",
    "bonus drawn at another temperature": "bonus at temperature 1/2",
    "residual reuses the uniform of the coin": "residual reuses the coin",
    "bonus reuses the uniform of the last coin": "bonus reuses the last coin",
    "one uniform for the coins of all positions": "one coin for all positions",
}


@pytest.mark.parametrize(("theirs", "ours"), CHAINS.items())
def test_bugs_of_verifiers_are_faults(theirs: str, ours: str) -> None:
    rng = np.random.default_rng(1)
    for V, gamma in ((3, 2), (4, 3)):
        p, q = rng.dirichlet(np.ones(V), gamma + 1), rng.dirichlet(np.ones(V), gamma)
        for drafts in (np.zeros(gamma, np.int64), np.arange(gamma)):
            bug = operators.CHAINS[theirs].run
            law = outcomes(lambda coins, bug=bug, p=p, q=q, x=drafts: bug(p.copy(), q.copy(), x, coins))
            assert _alike(_law_of_block(p, q, drafts, chains.emitted, chains.FAULTS[ours]), law)


CANDIDATES = {
    "ratio inverted": "ratio inverted",
    "after all rejections drawn from p": "after all rejections drawn from p",
    "residual reuses the uniform of the last coin": "residual reuses the last coin",
    "siblings scored with the unconditional q": "siblings scored with the unconditional q",
    "siblings scored with q without the rejected, not renormalised": "what is left of q not scaled",
    "siblings sorted by q": "siblings sorted by q",
    "siblings sorted by p": "siblings sorted by p",
    "siblings sorted by number": "siblings sorted by number",
    "siblings share one coin": "siblings share a coin",
}


@pytest.mark.parametrize(("theirs", "ours"), CANDIDATES.items())
def test_bugs_of_verifiers_of_candidates_are_faults(theirs: str, ours: str) -> None:
    rng = np.random.default_rng(2)
    for V, count in ((4, 2), (5, 3)):
        p, q, bug = rng.dirichlet(np.ones(V)), rng.dirichlet(np.ones(V)), candidates.MUTANTS[theirs].run
        for _ in range(3):
            x = rng.permutation(V)[:count]
            law = outcomes(lambda coins, bug=bug, p=p, q=q, x=x: bug(p.copy(), q.copy(), x, coins))
            fault = gated_candidates.FAULTS[ours]
            assert _alike(_law_of_block(p[None], q[None], x, gated_candidates.taken, fault), law)


DRAFTS = {
    "greedy": "greedy",
    "temperature 1/2 that q does not have": "temperature 1/2",
    "temperature 2, as if that of q were missing": "temperature 2",
    "top-k that q does not have": "top-2",
    "masses below a tenth of the largest cut, which q does not have": "small masses cut",
    "uniform over the tokens of q": "even over its tokens",
    "the first token repeated": "the token before repeated",
    "rows of q one position too early": "row one position too early",
    "rows of q one position too late": "row one position too late",
    "all positions drawn from the first row": "the first row",
    "one uniform for all positions": "one uniform for all positions",
}


@pytest.mark.parametrize(("theirs", "ours"), DRAFTS.items())
def test_bugs_of_drafters_are_faults(theirs: str, ours: str) -> None:
    rng = np.random.default_rng(3)
    for V, gamma in ((3, 2), (4, 3)):
        q, bug = rng.dirichlet(np.ones(V), gamma), drafters.MUTANTS[theirs].run
        law = outcomes(lambda coins, bug=bug, q=q: tuple(bug(q.copy(), coins)))
        assert _alike(_law_of_block(q, q, np.zeros(gamma, np.int64), drafting.drafted, drafting.FAULTS[ours]), law)


TREES = {
    "rows of p of the parent": "row of p of the parent",
    "rows of p of the next node": "row of p of the next node",
    "rejected siblings not struck from p": "rejected siblings not struck from p",
    "what is left of p not scaled between siblings": "what is left of p not scaled",
    "down the first chain after another sibling was accepted": "down the first chain after another sibling",
    "siblings share one coin": "siblings share a coin",
}


@pytest.mark.parametrize(("theirs", "ours"), TREES.items())
def test_bugs_of_trees_are_faults(theirs: str, ours: str) -> None:
    rng = np.random.default_rng(4)
    for tokens, parents in (((2, 0, 2, 1, 0), (-1, 0, 0, 2, 2)), ((1, 2, 0, 1, 1, 2, 0), (-1, 0, 0, 0, 1, 2, 2))):
        tree, p = tree_operators.Tree(tokens, parents), rng.dirichlet(np.ones(4), len(tokens))

        def run(coins: Coins, tree: Any = tree, p: Any = p) -> Any:
            made = trees.Tree.of_parents(p, list(tree.tokens), list(tree.parents), Call())
            path, last = trees.walked(made, OverCoins(coins), Wrong(trees.FAULTS[ours]))
            return tuple(path), last

        assert _alike(outcomes(run), outcomes(partial(tree_operators.LAWS[theirs].run, tree, p)))


BATCHES = {
    "rows of q of another sequence": "row of q of another sequence",
    "all sequences verified with the first one's p": "row of p of the first sequence",
    "as many kept in each row as in the first": "as many kept as in the first sequence",
    "rows share the uniforms of their coins": "the coins of the first sequence",
    "rows share the uniform of the last token": "the first sequence's noise",
}


@pytest.mark.parametrize(("theirs", "ours"), BATCHES.items())
def test_bugs_of_batches_are_faults(theirs: str, ours: str) -> None:
    """Two sequences of as many drafts."""
    rng = np.random.default_rng(5)
    p, q, x = rng.dirichlet(np.ones(3), (2, 2)), rng.dirichlet(np.ones(3), (2, 1)), np.array([[0], [2]])

    def run(coins: Coins) -> Any:
        call, source = Call(), OverCoins(coins)
        call.blocks.extend(Block(p[b], q[b], x[b], call, b) for b in range(2))
        wrong = Wrong(chains.FAULTS[ours])
        return tuple(tuple(chains.emitted(block, source, wrong)) for block in call.blocks)

    bug = batch_operators.LAWS[theirs].run
    assert _alike(outcomes(run), outcomes(lambda coins: bug(p.copy(), q.copy(), x, coins)))

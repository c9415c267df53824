"""Mutants over coins have the laws of the rules, decoders and trees that theory checks by enumeration.

Every mutant of every contract is either compared here, or listed with the reason why nothing else states it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from simlab import mutants
from simlab.arrays import Array
from simlab.certify.contracts.blocks import Tokens
from simlab.decoders import Decoder, Hierarchical, SpeculativeDecoder
from simlab.mutants import batches, candidates, drafters, generation, generator_verifiers, loops, verifiers
from simlab.mutants.base import LOSSLESS, RowRule
from simlab.mutants.rules import ArgmaxVerified, InvertedQuotient, ResidualTempered, ResidualWithoutDraft
from simlab.mutants.samplers import ScoredAs
from simlab.processes import TableProcess
from simlab.processes.processors import tempered
from simlab.randomness.coins import outcomes
from simlab.rules import Addition, Amplify, Grouped, Rule, Speculative, Typical, make_rule
from theory.candidates import candidates_law
from theory.exact import sequence_law, step_law

pytestmark = pytest.mark.parity

SPECULATIVE = Speculative()


def pairs(size: int = 4, count: int = 40) -> list[tuple[Array, Array]]:
    """Rows with zeros in either, and without."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(size), count) * (rng.random((count, size)) < 0.75)
    rows = rows[rows.any(axis=1)]
    rows /= rows.sum(axis=1, keepdims=True)
    return list(zip(rows, np.roll(rows, 1, axis=0), strict=True))


def first_token(verify: verifiers.Verify, p: Array, q: Array) -> Array:
    """The law of the first token emitted for one draft; the row for the bonus is the same as that of the draft."""
    law = np.zeros(len(p))
    for x in np.flatnonzero(q):
        for tokens, probability in outcomes(partial(_emitted, verify, p, q, int(x))).items():
            law[tokens[0]] += q[x] * probability
    return law


def _emitted(verify: verifiers.Verify, p: Array, q: Array, x: int, coins: Any) -> Tokens:
    return verify(np.stack([p, p]), q[None].copy(), np.array([x]), coins)


# Verifiers of a block ------------------------------------------------------------------------------------------

# what a mutant is made of, stated by another: the rules that theory checks, or the rows it takes for p and q
NAMED: dict[str, Rule] = {
    "ratio inverted": mutants.RULES["ratio inverted"],
    "ratio times 1.01": mutants.RULES["ratio times 1.01"],
    "ratio times 1.05": make_rule("amplify", k=Fraction(105, 100)),
    "residual drawn from p": mutants.RULES["residual = p"],
    "residual = [q - p]+": mutants.RULES["residual = [q - p]+"],
    "residual not renormalised, the rest on the last token": mutants.RULES["residual not renormalised"],
    "rejected token zeroed in p before q is subtracted": mutants.RULES["p zeroed in place"],
    "temperature applied to the residual again": ResidualTempered(),
    "verified by argmax": ArgmaxVerified(),
    "groups accepted, tokens in the residual": make_rule("grouped", labels=[0, 0, 1, 1]),
    "typical acceptance": make_rule("typical"),
    "ratio times 1.2": make_rule("amplify", k=Fraction(12, 10)),
}
ROWS: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "q lacks the temperature 1/2 the drafts were drawn at": lambda p, q: (p, _power(q, 0.5)),
    "q has a temperature of 1/2 the drafts were not drawn at": lambda p, q: (p, _power(q, 2)),
    "q has a top-k the drafts were not drawn with": lambda p, q: (p, _largest(q, 2)),
    "drafts scored with a uniform q": lambda p, q: (p, np.full(len(q), 1 / len(q))),
    "p at temperature 1/2": lambda p, q: (_power(p, 2), q),
    "p at temperature 2, as if its own were missing": lambda p, q: (_power(p, 0.5), q),
    "p cut to the top 2": lambda p, q: (_largest(p, 2), q),
}
BLOCKS = {  # compared as sequence decoders below
    "first draft committed unverified",
    "bonus token written twice",
    "bonus drawn from the residual",
    "one uniform for the coins of all positions",
    "hierarchical verification whose last step is not capped",
}
ALONE = {
    "residual drawn from p without the rejected token": "no rule of theory has the residual of a point mass for any q",
    "residual not renormalised, the rest on the first token": "its rule differs by the place from the one compared",
    "top-k applied to the residual again": "the samplers of theory filter with top-p; of top-k only the harmless case",
    "mass of neighbours in the numerator": "LANTERN draws from its conditional target instead; compared by hand",
    "0.05 added to the ratio": "addition adds to p, not to the ratio; compared by hand",
    "rows of p one position too early": "a shift of rows: one draft and equal rows do not show it",
    "rows of p one position too late": "a shift of rows: one draft and equal rows do not show it",
    "one draft too many kept": "theory's goes on with the residual of the draft after, this one with p",
    "one draft too few kept": "no decoder of theory counts one too few",
    "last token of a block written twice": "no decoder of theory writes a residual token twice",
    "bonus drawn at another temperature": "the decoders of theory draw the bonus from p or the residual",
    "drafts that q holds unlikely replaced by a draw from p": "no decoder of theory ends a block by the mass of q",
    "residual reuses the uniform of the coin": "decoders of theory cannot: acceptance and draws are separate decisions",
}


def _power(row: Array, power: float) -> Array:
    return np.asarray(row**power / (row**power).sum())


def _largest(row: Array, k: int) -> Array:
    cut = np.where(row >= np.sort(row)[-k], row, 0)
    return np.asarray(cut / cut.sum())


def test_every_verifier_is_compared_or_has_a_reason() -> None:
    assert sorted([*NAMED, *ROWS, *BLOCKS, *ALONE]) == sorted(verifiers.MUTANTS)


def test_acceptance_and_residual_are_those_of_the_rule() -> None:
    rule = make_rule("speculative")
    for p, q in pairs():
        for x in np.flatnonzero(q).tolist():
            assert LOSSLESS.accept(p, q, x) == pytest.approx(float(rule.accept(p, q, x)), abs=1e-15)
            weights = LOSSLESS.residual(p, q, x)
            assert weights / weights.sum() == pytest.approx(rule.residual(p, q, x), abs=1e-14)


@pytest.mark.parametrize("rule", [Typical(), Grouped([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]), Amplify(1.2), Addition(0.05)])
def test_answers_are_the_same_for_small_rows_which_are_tabulated_and_large_ones(rule: Rule) -> None:
    p, q = np.random.default_rng(1).dirichlet(np.ones(10), 2)
    large, small = RowRule(rule), RowRule(make_rule("speculative"))
    for x in range(10):
        assert large.accept(p, q, x) == float(rule.accept(p, q, x))
        assert (large.residual(p, q, x) == rule.weights_rows(p, q, np.asarray(x))).all()
    assert small.accept(p[:2], q[:2], 0) == min(1, p[0] / q[0])


@pytest.mark.parametrize("name", NAMED)
def test_verifiers_have_the_laws_of_the_rules(name: str) -> None:
    verify, differing = verifiers.MUTANTS[name].run, 0
    for p, q in pairs():
        if (p > 0).all() and (q > 0).all():  # conventions differ where nothing is left
            law = first_token(verify, p, q)
            assert law == pytest.approx(np.asarray(step_law(NAMED[name], p, q), float), abs=1e-12)
            differing += abs(law - p).sum() > 1e-6
    assert differing


def test_typical_acceptance_has_the_constants_of_medusa() -> None:
    """Accepted just where the rule accepts, on 2,000 random rows; exchanged constants decide hundreds otherwise."""
    rng = np.random.default_rng(0)
    for p, q in zip(rng.dirichlet(np.ones(4), 2000), rng.dirichlet(np.ones(4), 2000), strict=True):
        x = int(q.argmax())
        accepted = sum(
            probability
            for tokens, probability in outcomes(
                partial(_emitted, verifiers.MUTANTS["typical acceptance"].run, p, q, x)
            ).items()
            if len(tokens) == 2
        )
        assert accepted == pytest.approx(float(Typical().accept(p, q, x)))


@pytest.mark.parametrize("name", ROWS)
def test_verifiers_of_other_rows_have_the_law_of_the_lossless_rule_on_those(name: str) -> None:
    differing = 0
    for p, q in pairs():
        target, draft = ROWS[name](p, q)
        x = np.arange(len(p))
        wide = [np.broadcast_to(row, (len(p), len(p))) for row in (target, draft)]
        accept, residual = SPECULATIVE.accept_rows(*wide, x), SPECULATIVE.residual_rows(*wide, x)
        expected = q * accept + (q * (1 - accept)) @ residual
        law = first_token(verifiers.MUTANTS[name].run, p, q)
        assert law == pytest.approx(expected, abs=1e-12)
        differing += abs(law - p).sum() > 1e-6
    assert differing


def test_neighbours_and_slack_by_hand() -> None:
    """p = (1/2, 1/4, 1/4), q = (1/4, 1/4, 1/2): only token 2 can be rejected, and [p - q]+ is on token 0."""
    p, q = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.25, 0.5])
    near = first_token(verifiers.MUTANTS["mass of neighbours in the numerator"].run, p, q)
    assert near == pytest.approx(q)  # (p(1) + p(2))/q(2) = 1: accepted surely
    slack = first_token(verifiers.MUTANTS["0.05 added to the ratio"].run, p, q)
    assert slack == pytest.approx([0.25 + 0.5 * 0.45, 0.25, 0.5 * 0.55])


def test_rows_kept_by_position_show_a_shift() -> None:
    p = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    drafts, q = np.array([0, 1]), p[:2].copy()
    late = outcomes(partial(verifiers.MUTANTS["rows of p one position too late"].run, p, q, drafts))
    early = outcomes(partial(verifiers.MUTANTS["rows of p one position too early"].run, p, q, drafts))
    assert (late, early) == ({(1,): 1.0}, {(0, 0): 1.0})


# Decoders of sequences -----------------------------------------------------------------------------------------


def model(prefix: Tokens) -> list[float]:
    """A row of three tokens for every prefix."""
    return np.random.default_rng([3, *prefix, len(prefix)]).dirichlet(np.ones(3)).tolist()


def arrays(prefix: Tokens) -> Array:
    return np.array(model(prefix))


LENGTH = 4  # one more than a block with its bonus
TARGET = TableProcess(3, LENGTH, model)
DRAFT = TableProcess(3, LENGTH, lambda prefix: loops.drafted(arrays, prefix))
SHARP = TableProcess(3, LENGTH, lambda prefix: tempered(loops.drafted(arrays, prefix), 0.5))
GREEDY = TableProcess(3, LENGTH, lambda prefix: tempered(loops.drafted(arrays, prefix), 0))
RIGHT = SpeculativeDecoder(loops.GAMMA)


def _with(change: type[mutants.ChangedRandomness]) -> Decoder:
    return mutants.WithRandomness(RIGHT, change)


# name: decoder, rule, draft process
DECODERS: dict[str, tuple[Decoder, Rule, TableProcess]] = {
    "drafts drawn at temperature 1/2, scored with q as it is": (ScoredAs(2, DRAFT), SPECULATIVE, SHARP),
    "q scored at temperature 1/2, drafts drawn as it is": (ScoredAs(2, SHARP), SPECULATIVE, DRAFT),
    "greedy drafts scored with a soft q": (ScoredAs(2, DRAFT), SPECULATIVE, GREEDY),
    "verified by argmax": (RIGHT, ArgmaxVerified(), DRAFT),
    "ratio times 1.05": (RIGHT, Amplify(1.05), DRAFT),
    "residual drawn from p": (RIGHT, mutants.ResidualIsTarget(), DRAFT),
    "residual = [q - p]+": (RIGHT, mutants.ResidualReversed(), DRAFT),
    "temperature applied to the residual again": (RIGHT, ResidualTempered(), DRAFT),
    "first draft committed unverified": (_with(mutants.FirstUnverified), SPECULATIVE, DRAFT),
    "bonus drawn from the residual": (mutants.BonusFromResidual(2), SPECULATIVE, DRAFT),
    "bonus token written twice": (mutants.BonusTwice(2), SPECULATIVE, DRAFT),
    "one uniform for the coins of a block": (_with(mutants.OneCoin), SPECULATIVE, DRAFT),
    "hierarchical verification whose last step is not capped": (
        Hierarchical(loops.GAMMA, final="uncapped"),
        SPECULATIVE,
        DRAFT,
    ),
}
LOOPS_ALONE = {
    "the two likeliest candidates scored with a soft q": "two candidates and a chain: theory's trees have other shapes",
    "initial token copied from its neighbour, scored with a uniform q": "theory's window moves on after every step",
    "p at temperature 1/2": "its bonus is drawn from p as it is; theory's samplers temper all of p",
    "rows of p one position too early": "processes of theory give the row of a position, not of another",
    "rows of p one position too late": "processes of theory give the row of a position, not of another",
    "rows of p of another context": "processes of theory give the row of a context, not of another",
    "residual drawn from p without the rejected token": "made of the verifier above",
    "one draft too many kept": "theory's goes on with the residual of the draft after, this one with p",
    "one draft too few kept": "no decoder of theory counts one too few",
    "small masses of the residual lost": "a matter of rounding, which exact rows do not have",
    "bonus token not emitted, but kept in the context": "a cache is no part of theory's decoders",
    "tail token kept, its q relabelled with the new p": "theory's window moves on after every step",
    "tail token drawn anew, its q still the old one": "theory's window moves on after every step",
    "rejected token kept in the cache": "a cache is no part of theory's decoders",
    "end of the sequence inside a block missed": "images of theory have one length, and no end",
    "end of the sequence inside a block dropped": "images of theory have one length, and no end",
    "drafts that q holds unlikely replaced by a draw from p": "no decoder of theory ends a block by the mass of q",
    "residual reuses the uniform of the coin": "acceptance and draws are separate decisions in theory",
    "one uniform for all coins of a sequence": "steps of theory's decoders are independent",
    "seed reset in every iteration": "steps of theory's decoders are independent",
    "tree: second candidate drawn without the first, scored with q": "theory's trees have other shapes",
    "tree: target not updated between candidates": "theory's trees have other shapes",
    "tree: candidates sorted by q": "theory's trees have other shapes",
    "tree: second candidate does not exclude the first, scored as if it did": "theory's trees have other shapes",
    "tree: on down the first chain after the second was kept": "theory's trees have other shapes",
    "tree: one coin for both candidates": "theory's trees have other shapes",
}


def test_every_loop_is_compared_or_has_a_reason() -> None:
    assert len(DECODERS) + len(LOOPS_ALONE) == len(generation.MUTANTS)
    assert DECODERS.keys() | LOOPS_ALONE.keys() == generation.MUTANTS.keys()


@pytest.mark.parametrize("name", DECODERS)
def test_loops_have_the_laws_of_the_decoders(name: str) -> None:
    decoder, rule, draft = DECODERS[name]
    law, _ = sequence_law(decoder, TARGET, rule, draft=draft)
    found = generation.MUTANTS[name].run.law(loops.Request(arrays, LENGTH, None))
    right, _ = sequence_law(RIGHT, TARGET, SPECULATIVE, draft=DRAFT)
    for tokens in law.keys() | found.keys():
        assert found.get(tokens, 0) == pytest.approx(float(law.get(tokens, 0)), abs=1e-12)
    assert max(abs(float(law.get(tokens, 0)) - float(right[tokens])) for tokens in right) > 1e-6


# Candidates, batches, drafters, generators ---------------------------------------------------------------------

CANDIDATES: dict[str, Rule] = {
    "ratio times 1.05": Amplify(1.05),
    "ratio inverted": InvertedQuotient(),
    "rejected tokens struck from p, q not subtracted": ResidualWithoutDraft(),
}
CANDIDATES_AFTER = {"siblings scored with the unconditional q": lambda q, x: q}
CANDIDATES_ALONE = {
    "verified by argmax": "emits the likeliest token whatever the candidates are",
    "after all rejections drawn from p": "theory carries every residual on",
    "the last rejection not taken from p": "theory carries every residual on",
    "last residual = [q - p]+": "theory has one residual for all rejections",
    "last residual not renormalised, the rest on the last token": "theory has one residual for all rejections",
    "residual reuses the uniform of the last coin": "acceptance and draws are separate decisions in theory",
    "siblings scored with q without the rejected, not renormalised": "rows of theory are pmfs",
    "residual not carried to the next sibling": "theory carries every residual on",
    "residual carried without renormalising": "rows of theory are pmfs",
    "siblings sorted by q": "theory verifies candidates in the order they were drawn in",
    "siblings sorted by p": "theory verifies candidates in the order they were drawn in",
    "siblings sorted by number": "theory verifies candidates in the order they were drawn in",
    "siblings sorted by p/q": "theory verifies candidates in the order they were drawn in",
    "siblings scored as if they did not exclude the first": "theory's q after a rejection depends on that one alone",
    "siblings share one coin": "acceptances are separate decisions in theory",
}


def candidates_token(verify: candidates.VerifyCandidates, p: Array, q: Array, count: int = 2) -> Array:
    """The law of the token emitted for candidates drawn from q in turn without replacement."""
    law = np.zeros(len(p))
    for drawn in permutations(np.flatnonzero(q).tolist(), count):
        left, probability = q.copy(), 1.0
        for x in drawn:
            probability *= left[x] / left.sum()
            left[x] = 0
        for (token,), part in outcomes(partial(verify, p, q, np.array(drawn))).items():
            law[token] += probability * part
    return law


def test_every_verifier_of_candidates_is_compared_or_has_a_reason() -> None:
    named = [*CANDIDATES, *CANDIDATES_AFTER, *CANDIDATES_ALONE]
    assert sorted(named) == sorted(candidates.MUTANTS)


def test_candidates_in_turn_have_the_law_of_the_theory() -> None:
    for p, q in pairs():
        count = min(2, int((q > 0).sum()))
        theirs, _ = candidates_law(SPECULATIVE, p, q, candidates=count)
        assert candidates_token(candidates.lossless, p, q, count) == pytest.approx(np.asarray(theirs, float), abs=1e-12)


@pytest.mark.parametrize("name", [*CANDIDATES, *CANDIDATES_AFTER])
def test_candidates_with_a_bug_have_the_law_of_the_theory(name: str) -> None:
    differing = 0
    for p, q in pairs():
        if (p > 0).all() and (q > 0).all():  # conventions differ where nothing is left
            options = {"after": CANDIDATES_AFTER[name]} if name in CANDIDATES_AFTER else {}
            theirs, _ = candidates_law(CANDIDATES.get(name, SPECULATIVE), p, q, candidates=2, **options)
            law = candidates_token(candidates.MUTANTS[name].run, p, q)
            assert law == pytest.approx(np.asarray(theirs, float), abs=1e-12)
            differing += abs(law - p).sum() > 1e-6
    assert differing


def test_batches_are_the_verifiers_row_by_row_and_what_only_batches_have() -> None:
    """Theory has no batches: that rows are independent is what the verifiers of a batch may break."""
    p, q = (np.stack(rows)[None] for rows in zip(*[(p, q) for p, q in pairs()[:2]], strict=True))
    drafts = np.array([[1]])
    for name, mutant in verifiers.MUTANTS.items():
        one = outcomes(partial(_copied, mutant.run, p[0], q[0, :1], drafts[0]))
        both = outcomes(partial(_copied, batches.MUTANTS[name].run, p, q[:, :1], drafts))
        assert both == {(tokens,): pytest.approx(chance) for tokens, chance in one.items()}
    assert {batches.MUTANTS[name].mutant for name in batches.OF_BATCHES} == {"9", "17", "28", "29"}


def _copied(verify: Any, p: Array, q: Array, drafts: Array, coins: Any) -> Any:
    return verify(p.copy(), q.copy(), drafts, coins)


def test_drafters_and_generators_have_no_counterpart() -> None:
    """Drafters draw for no verifier, their laws are tested beside the contract; bugs of generators show in no law."""
    assert all(isinstance(mutant.run, drafters.Draft) for mutant in drafters.MUTANTS.values())
    assert {bug.mutant for bug in generator_verifiers.BUGS.values()} == {"9", "14", "19", "20", "28", "29"}

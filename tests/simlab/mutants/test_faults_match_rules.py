"""Faults over coins have the laws of the rules and decoders that theory checks by enumeration."""

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
from simlab.decoders import Decoder, Hierarchical, SpeculativeDecoder
from simlab.mutants.gated import chain_faults, chains, decoding
from simlab.mutants.gated.base import Wrong
from simlab.mutants.gated.contracts import CONTRACTS, known, over_coins
from simlab.mutants.rules import ResidualTempered
from simlab.mutants.samplers import ScoredAs
from simlab.processes import TableProcess
from simlab.processes.processors import tempered
from simlab.randomness.coins import outcomes
from simlab.rules import Amplify, Rule, Speculative, Typical, make_rule
from tests.support.wrong_rules import InvertedQuotient
from theory.candidates import candidates_law
from theory.exact import sequence_law, step_law

pytestmark = pytest.mark.parity

SPECULATIVE = Speculative()
KNOWN = known("verify")


def pairs() -> list[tuple[Array, Array]]:
    """Rows with zeros in either, and without."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(4), 40) * (rng.random((40, 4)) < 0.75)
    rows = rows[rows.any(axis=1)]
    rows /= rows.sum(axis=1, keepdims=True)
    return list(zip(rows, np.roll(rows, 1, axis=0), strict=True))


def emitted(fault: Any, p: Array, q: Array, drafts: Any) -> dict[Any, float]:
    """The law of what a verifier with a fault emits."""
    return outcomes(partial(_copied, over_coins("verify", fault), p, q, np.array(drafts)))


def _copied(verify: Any, p: Array, q: Array, drafts: Array, coins: Any) -> Any:
    return verify(p.copy(), q.copy(), drafts, coins)


def first_token(fault: Any, p: Array, q: Array) -> Array:
    """The law of the first token emitted for one draft; the row for the bonus is the same as that of the draft."""
    law = np.zeros(len(p))
    for x in np.flatnonzero(q).tolist():
        for tokens, probability in emitted(fault, np.stack([p, p]), q[None], [x]).items():
            law[tokens[0]] += q[x] * probability
    return law


# Verifiers of a block ------------------------------------------------------------------------------------------

# what a fault is made of, stated by another: the rules that theory checks, or the rows it takes for p and q
NAMED: dict[str, Rule] = {
    "ratio inverted": mutants.RULES["ratio inverted"],
    "ratio times 1.01": mutants.RULES["ratio times 1.01"],
    "ratio times 1.2": make_rule("amplify", k=Fraction(12, 10)),
    "residual drawn from p": mutants.RULES["residual = p"],
    "residual = [q - p]+": mutants.RULES["residual = [q - p]+"],
    "residual not scaled": mutants.RULES["residual not renormalised"],
    "rejected token zeroed in p before q is subtracted": mutants.RULES["p zeroed in place"],
    "temperature 1/2 on the residual": ResidualTempered(),
    "groups accepted, tokens in the residual": make_rule("grouped", labels=[0, 0, 1, 1]),
    "typical acceptance": make_rule("typical"),
}
ROWS: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "q at temperature 2, which drafts were not drawn at": lambda p, q: (p, _power(q, 0.5)),
    "q at temperature 1/2, which drafts were not drawn at": lambda p, q: (p, _power(q, 2)),
    "q cut to the top 2, which drafts were not drawn with": lambda p, q: (p, _largest(q, 2)),
    "drafts scored with a uniform q": lambda p, q: (p, np.full(len(q), 1 / len(q))),
    "p at temperature 1/2": lambda p, q: (_power(p, 2), q),
    "p at temperature 2": lambda p, q: (_power(p, 0.5), q),
    "p cut to the top 2": lambda p, q: (_largest(p, 2), q),
}


def _power(row: Array, power: float) -> Array:
    return np.asarray(row**power / (row**power).sum())


def _largest(row: Array, k: int) -> Array:
    cut = np.where(row >= np.sort(row)[-k], row, 0)
    return np.asarray(cut / cut.sum())


@pytest.mark.parametrize("name", ["nothing", *chain_faults.VARIANTS])
def test_what_is_right_has_the_law_of_the_target(name: str) -> None:
    fault = chain_faults.VARIANTS.get(name, chains.RIGHT)
    for p, q in pairs():
        assert first_token(fault, p, q) == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("name", NAMED)
def test_verifiers_have_the_laws_of_the_rules(name: str) -> None:
    differing = 0
    for p, q in pairs():
        if (p > 0).all() and (q > 0).all():  # conventions differ where nothing is left
            law = first_token(KNOWN[name], p, q)
            assert law == pytest.approx(np.asarray(step_law(NAMED[name], p, q), float), abs=1e-12)
            differing += abs(law - p).sum() > 1e-6
    assert differing


def test_typical_acceptance_has_the_constants_of_medusa() -> None:
    """Accepted just where the rule accepts, on 2,000 random rows; exchanged constants decide hundreds otherwise."""
    rng = np.random.default_rng(0)
    for p, q in zip(rng.dirichlet(np.ones(4), 2000), rng.dirichlet(np.ones(4), 2000), strict=True):
        x = int(q.argmax())
        law = emitted(KNOWN["typical acceptance"], np.stack([p, p]), q[None], [x])
        accepted = sum(probability for tokens, probability in law.items() if len(tokens) == 2)
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
        law = first_token(KNOWN[name], p, q)
        if (p > 0).all() and (q > 0).all():
            assert law == pytest.approx(expected, abs=1e-12)
            differing += abs(law - p).sum() > 1e-6
    assert differing


def test_neighbours_and_slack_by_hand() -> None:
    """p = (1/2, 1/4, 1/4), q = (1/4, 1/4, 1/2): [p - q]+ is on token 0."""
    p, q = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.25, 0.5])
    near = first_token(KNOWN["mass of the next token in the numerator"], p, q)
    assert near == pytest.approx(q)  # p(1)/q(0) = p(2)/q(1) = p(0)/q(2) = 1: accepted surely
    slack = first_token(KNOWN["0.1 added to the ratio"], p, q)
    assert slack == pytest.approx([0.25 + 0.5 * 0.4, 0.25, 0.5 * 0.6])


def test_rows_kept_by_position_show_a_shift() -> None:
    p = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    late = emitted(KNOWN["row of p one position too late"], p, p[:2], [0, 1])
    early = emitted(KNOWN["row of p one position too early"], p, p[:2], [0, 1])
    assert (late, early) == ({(1,): 1.0}, {(0, 0): 1.0})


def test_batches_are_verifiers_sequence_by_sequence() -> None:
    """A fault that mixes no sequences has the same law in a batch of one."""
    p, q = (np.stack(rows)[None] for rows in zip(*[(p, q) for p, q in pairs()[:2]], strict=True))
    for name, fault in KNOWN.items():
        one = emitted(fault, p[0], q[0, :1], [1])
        both = outcomes(partial(_copied, over_coins("verify_batch", fault), p, q[:, :1], np.array([[1]])))
        assert both == {(tokens,): pytest.approx(chance) for tokens, chance in one.items()}, name


# Decoders of sequences -----------------------------------------------------------------------------------------


def model(prefix: Any) -> list[float]:
    """A row of three tokens for every prefix."""
    return np.random.default_rng([3, *prefix, len(prefix)]).dirichlet(np.ones(3)).tolist()


def arrays(prefix: Any) -> Array:
    return np.array(model(prefix))


LENGTH = 4  # one more than a block with its bonus
TARGET = TableProcess(3, LENGTH, model)
DRAFT = TableProcess(3, LENGTH, lambda prefix: decoding.drafted(arrays, prefix))
SHARP = TableProcess(3, LENGTH, lambda prefix: tempered(decoding.drafted(arrays, prefix), 0.5))
GREEDY = TableProcess(3, LENGTH, lambda prefix: tempered(decoding.drafted(arrays, prefix), 0))
RIGHT = SpeculativeDecoder(decoding.GAMMA)


def _with(change: type[mutants.ChangedRandomness]) -> Decoder:
    return mutants.WithRandomness(RIGHT, change)


# name: decoder, rule, draft process
DECODERS: dict[str, tuple[Decoder, Rule, TableProcess]] = {
    "drafts drawn at temperature 1/2, scored with q as it is": (ScoredAs(2, DRAFT), SPECULATIVE, SHARP),
    "q at temperature 1/2, which drafts were not drawn at": (ScoredAs(2, SHARP), SPECULATIVE, DRAFT),
    "greedy drafts scored with a soft q": (ScoredAs(2, DRAFT), SPECULATIVE, GREEDY),
    "ratio times 1.1": (RIGHT, Amplify(1.1), DRAFT),
    "residual drawn from p": (RIGHT, mutants.ResidualIsTarget(), DRAFT),
    "residual = [q - p]+": (RIGHT, mutants.ResidualReversed(), DRAFT),
    "temperature 1/2 on the residual": (RIGHT, ResidualTempered(), DRAFT),
    "first draft unverified": (_with(mutants.FirstUnverified), SPECULATIVE, DRAFT),
    "bonus from the residual": (mutants.BonusFromResidual(2), SPECULATIVE, DRAFT),
    "bonus token twice": (mutants.BonusTwice(2), SPECULATIVE, DRAFT),
    "one coin for all positions": (_with(mutants.OneCoin), SPECULATIVE, DRAFT),
    "hierarchical verification whose last step is not capped": (
        Hierarchical(decoding.GAMMA, final="uncapped"),
        SPECULATIVE,
        DRAFT,
    ),
}


@pytest.mark.parametrize("name", DECODERS)
def test_decoders_with_a_fault_have_the_laws_of_the_decoders(name: str) -> None:
    decoder, rule, draft = DECODERS[name]
    law, _ = sequence_law(decoder, TARGET, rule, draft=draft)
    found = decoding.law(decoding.Request(arrays, LENGTH), Wrong(decoding.FAULTS[name]))
    right, _ = sequence_law(RIGHT, TARGET, SPECULATIVE, draft=DRAFT)
    for tokens in law.keys() | found.keys():
        assert found.get(tokens, 0) == pytest.approx(float(law.get(tokens, 0)), abs=1e-12)
    assert max(abs(float(law.get(tokens, 0)) - float(right[tokens])) for tokens in right) > 1e-6


# Candidates ----------------------------------------------------------------------------------------------------

CANDIDATES: dict[str, Rule] = {
    "ratio times 1.1": Amplify(1.1),
    "ratio inverted": InvertedQuotient(),
}
CANDIDATES_AFTER = {"siblings scored with the unconditional q": lambda q, x: q}


def candidates_token(fault: Any, p: Array, q: Array, count: int = 2) -> Array:
    """The law of the token emitted for candidates drawn from q in turn without replacement."""
    law = np.zeros(len(p))
    verify = over_coins("verify_candidates", fault)
    for drawn in permutations(np.flatnonzero(q).tolist(), count):
        left, probability = q.copy(), 1.0
        for x in drawn:
            probability *= left[x] / left.sum()
            left[x] = 0
        for (token,), part in outcomes(partial(verify, p, q, np.array(drawn))).items():
            law[token] += probability * part
    return law


def test_candidates_in_turn_have_the_law_of_the_theory() -> None:
    right = CONTRACTS["verify_candidates"].right
    for p, q in pairs():
        count = min(2, int((q > 0).sum()))
        theirs, _ = candidates_law(SPECULATIVE, p, q, candidates=count)
        assert candidates_token(right, p, q, count) == pytest.approx(np.asarray(theirs, float), abs=1e-12)


@pytest.mark.parametrize("name", [*CANDIDATES, *CANDIDATES_AFTER])
def test_candidates_with_a_fault_have_the_law_of_the_theory(name: str) -> None:
    differing = 0
    for p, q in pairs():
        if (p > 0).all() and (q > 0).all():  # conventions differ where nothing is left
            options = {"after": CANDIDATES_AFTER[name]} if name in CANDIDATES_AFTER else {}
            theirs, _ = candidates_law(CANDIDATES.get(name, SPECULATIVE), p, q, candidates=2, **options)
            law = candidates_token(known("verify_candidates")[name], p, q)
            assert law == pytest.approx(np.asarray(theirs, float), abs=1e-12)
            differing += abs(law - p).sum() > 1e-6
    assert differing

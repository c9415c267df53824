"""What ``simlab certify`` knows is written over coins; it is the same as the rules and controls that are proven."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from simlab.certify.engine.coins import outcomes
from simlab.mutants import RULES, candidates
from simlab.mutants import verifiers as verifying
from simlab.rules import Speculative, make_rule
from theory.candidates import candidates_law
from theory.exact import step_law

pytestmark = pytest.mark.parity

SAME = {
    "ratio inverted": "ratio inverted",
    "ratio times 1.01": "ratio times 1.01",
    "residual = p": "residual drawn from p",
    "residual = [q - p]+": "residual = [q - p]+",
    "residual not renormalised": "residual not renormalised, the rest on the last token",
    "p zeroed in place": "rejected token zeroed in p before q is subtracted",
}


def pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows with zeros in either, and without."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(4), 40) * (rng.random((40, 4)) < 0.75)
    rows = rows[rows.any(axis=1)]
    rows /= rows.sum(axis=1, keepdims=True)
    return list(zip(rows, np.roll(rows, 1, axis=0), strict=True))


def first_token(verify: verifying.Verify, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The law of the first token emitted for one draft; the bonus row is of no matter to it."""
    law = np.zeros(len(p))
    for x in np.flatnonzero(q):
        run = partial(_emitted, verify, p, q, int(x))
        for tokens, probability in outcomes(run).items():
            law[tokens[0]] += q[x] * probability
    return law


def _emitted(verify: verifying.Verify, p: np.ndarray, q: np.ndarray, x: int, coins: object) -> tuple[int, ...]:
    return verify(np.stack([p, p]), q[None].copy(), np.array([x]), coins)  # type: ignore[arg-type]


def test_acceptance_and_residual_are_those_of_the_rule() -> None:
    rule = make_rule("speculative")
    for p, q in pairs():
        for x in np.flatnonzero(q).tolist():
            assert verifying.ratio(p, q, x) == pytest.approx(float(rule.accept(p, q, x)), abs=1e-15)
            weights = verifying.excess(p, q, x)
            assert weights / weights.sum() == pytest.approx(rule.residual(p, q, x), abs=1e-14)


@pytest.mark.parametrize("control", SAME)
def test_bugs_have_the_laws_of_the_controls(control: str) -> None:
    verify = verifying.MUTANTS[SAME[control]].run
    differing = 0
    for p, q in pairs():
        law = first_token(verify, p, q)
        if (p > 0).all() and (q > 0).all():  # conventions differ where nothing is left
            assert law == pytest.approx(np.asarray(step_law(RULES[control], p, q), float), abs=1e-12)
            differing += abs(law - p).sum() > 1e-6
    assert differing


def test_candidates_in_turn_have_the_law_of_the_theory() -> None:
    for p, q in pairs():
        count = min(2, int((q > 0).sum()))
        law = np.zeros(len(p))
        for first in np.flatnonzero(q).tolist():
            left = q.copy()
            left[first] = 0
            for second in np.flatnonzero(left).tolist() if count == 2 else [None]:
                drawn = [first] if second is None else [first, second]
                chance = q[first] * (1 if second is None else left[second] / left.sum())
                for (token,), probability in outcomes(partial(candidates.lossless, p, q, np.array(drawn))).items():
                    law[token] += chance * probability
        theirs, _ = candidates_law(Speculative(), p, q, candidates=count)
        assert law == pytest.approx(np.asarray(theirs, float), abs=1e-12)

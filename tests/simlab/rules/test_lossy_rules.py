"""The lossy rules that take no table: what they share, and what tells them apart.

Pair B is p = (1/2, 3/10, 1/5), q = (1/5, 3/10, 1/2). Every rule is also compared with the slow one on a list of pairs
with zeros and ties; :mod:`tests.simlab.rules.test_rules_exact` draws more.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest
import torch

from simlab.rules import Cactus, Cascade, MedusaReference, Rule, Speculative, Typical, make_rule
from tests.support.cases import SUCCESSORS
from theory.acceptance import alpha, frontier
from theory.distances import kl, tv
from theory.exact import acceptance, step_law

pytestmark = pytest.mark.exact

P, Q = (F(1, 2), F(3, 10), F(1, 5)), (F(1, 5), F(3, 10), F(1, 2))
HALF = F(1, 2)


def test_cactus_on_pair_b() -> None:
    """The root of 0.016 is no fraction: these are the printed digits."""
    rule = make_rule("cactus", delta=0.05)
    assert float(acceptance(rule, P, Q)) == pytest.approx(0.826491, abs=5e-7)
    law = step_law(rule, P, Q)
    assert [float(mass) for mass in law] == pytest.approx([0.373509, 0.3, 0.326491], abs=5e-7)
    assert law[1] == F(3, 10)
    assert sum(law) == 1


def test_cactus_takes_roots_that_are_fractions_exactly() -> None:
    """p = 4/5, delta = 1/50: the root of 2 (1/50) (4/5) (1/5) is 2/25."""
    p, q = (F(4, 5), F(1, 5)), (F(9, 10), F(1, 10))
    assert make_rule("cactus", delta=F(1, 50)).accept(p, q, 0) == F(44, 45)
    assert make_rule("cactus", delta=F(1, 50)).residual(p, q, 0).tolist() == [0, 1]


def test_the_other_target_of_cactus_exceeds_its_budget_above_one_half() -> None:
    """0.9 raised at 0.05 is 0.9949: KL 0.0845; and the example of the published code's README."""
    raised = float(Cactus(0.05).raised(np.array([0.9]))[0])
    assert kl([raised, 1 - raised], [0.9, 0.1]) == pytest.approx(0.0845, abs=5e-5)
    shown = kl([0.66, 0.34], [0.35, 0.65])
    assert shown == pytest.approx(0.20, abs=5e-3)  # nats, as printed
    assert pytest.approx([0.44, 0.82], abs=6e-3) == [0.35 / 0.8, 0.66 / 0.8]


def test_the_budget_of_cactus_is_exceeded_by_a_factor_of_up_to_two() -> None:
    """What is raised to 1 at the least delta, (1 - p)/(2 p), has KL -log p, which is 2 p delta to first order."""
    factors = []
    for mass in (0.6, 0.9, 0.99, 0.999, 0.9999):
        least = (1 - mass) / (2 * mass)
        assert float(Cactus(least).raised(np.array([mass]))[0]) == pytest.approx(1, abs=1e-12)
        factors.append(-log(mass) / least)
    assert factors == sorted(factors)
    assert 1 < factors[0] < factors[-1] < 2
    assert factors[-1] > 1.9997


def test_what_is_lenient_emits_no_token_more_often_than_its_factor_allows() -> None:
    """At most p/l; the rule whose factor is half of that which is said does not keep to it."""

    def kept(factor: F, said: F) -> bool:
        rules = [make_rule("lenience", factor=factor, residual=residual) for residual in ("target", "lenient")]
        laws = [(step_law(rule, *(tuple(map(F, row)) for row in pair)), pair[0]) for rule in rules for pair in PAIRS]
        return all(mass <= own / said for law, p in laws for mass, own in zip(law, p, strict=True))

    for factor in (F(1, 10), HALF, F(4, 5)):
        assert kept(factor, factor)
        assert not kept(factor / 2, factor)


def test_defaults_are_those_of_the_published_code() -> None:
    medusa, mars = make_rule("medusa-reference"), make_rule("mars-reference", normaliser=10)
    assert isinstance(medusa, MedusaReference)
    assert (medusa.epsilon, medusa.delta) == (0.09, 0.3)
    assert vars(mars)["threshold"] == 0.9


def test_a_little_on_every_entry_of_a_residual_is_drawn_from_off_its_support() -> None:
    """1e-10 beside each of 64,000 masses, as SCD's code for Cosmos adds: at TV 0.01 it has 6.4e-4 of the residual."""

    class Padded(Speculative):
        def weights_rows(self, p: Any, q: Any, x: Any) -> Any:
            return np.clip(p - q, 0, None) + 1e-10

    p, q = np.zeros(64_000), np.zeros(64_000)
    p[:2], q[:2] = (0.51, 0.49), (0.5, 0.5)
    off = [float(rule.residual_rows(p, q, np.int64(1))[p <= q].sum()) for rule in (Speculative(), Padded())]
    assert off == [0, pytest.approx(6.4e-4, rel=1e-3)]


def test_an_unrelaxed_tree_of_one_child_is_not_lossless_in_the_code_of_mars() -> None:
    """Child 2 of pair B, as the published code scores it with q: (3/8, 9/40, 2/5), TV 1/5."""
    rule = make_rule("mars-reference", normaliser=2)
    kept, after = rule.accept(P, Q, 2), rule.residual(P, Q, 2)
    law = [(1 - kept) * mass + kept * (x == 2) for x, mass in enumerate(after)]
    assert law == [F(3, 8), F(9, 40), F(2, 5)]
    assert tv(law, P) == F(1, 5)


def test_the_ratio_of_logits_knows_their_normaliser() -> None:
    """log(3/10) + c > 0.9 (log(1/2) + c) from c = 5.802 on; and wherever the largest logit is negative."""
    edge = (0.9 * log(0.5) - log(0.3)) / 0.1
    constants = (-20, 0.1, 2, edge - 0.01, edge + 0.01, 20)
    relaxed = [bool(make_rule("mars", normaliser=c).relaxed_rows(np.array(P))[0]) for c in constants]
    assert relaxed == [True, True, False, False, True, True]


PAIRS = list(
    product(
        [(1, 0, 0), (F(1, 2), F(1, 2), 0), (F(1, 2), F(1, 4), F(1, 4)), P, (F(1, 64), F(1, 4), F(47, 64))],
        [(0, 0, 1), (F(1, 4), F(1, 2), F(1, 4)), (F(1, 3), F(1, 3), F(1, 3)), Q, (F(7, 8), F(1, 8), 0)],
    )
)


# What they share -------------------------------------------------------------------------------------------------


def laws(rule: Rule) -> list[list[F]]:
    return [step_law(rule, *(tuple(map(F, row)) for row in pair)).tolist() for pair in PAIRS]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (make_rule("mixture", weight=1), make_rule("speculative")),
        (make_rule("lenience", factor=1, residual="lenient"), make_rule("speculative")),
        (make_rule("cactus", delta=0), make_rule("speculative")),
        (make_rule("lenience", factor=F(2, 5)), make_rule("amplify", k=F(5, 2))),
        (make_rule("truncation", threshold=F(2, 5), residual="target"), make_rule("cascade", threshold=F(2, 5))),
        (
            make_rule("fuzzy", threshold=F(1, 3), divergence="tv"),
            make_rule("fuzzy", threshold=F(1, 3), divergence="tv", beyond="speculative"),
        ),
    ],
)
def test_two_rules_emit_one_law(one: Rule, other: Rule) -> None:
    assert laws(one) == laws(other)


def test_no_two_of_the_others_emit_one_law() -> None:
    """The comparison above tells rules apart."""
    others = [
        make_rule("mixture", weight=HALF),
        make_rule("lenience", factor=HALF),
        make_rule("lenience", factor=HALF, residual="lenient"),
        make_rule("cactus", delta=F(1, 8)),
        make_rule("truncation", threshold=HALF),
        make_rule("cascade", threshold=HALF),
        make_rule("mars-reference", normaliser=20),
        MedusaReference(F(1, 4), 1),
    ]
    assert len({str(laws(rule)) for rule in others}) == len(others)


def test_a_mixture_is_on_the_frontier() -> None:
    for weight in (F(0), F(1, 3), F(1)):
        rule = make_rule("mixture", weight=weight)
        for pair in PAIRS:
            p, q = (tuple(map(F, row)) for row in pair)
            law = step_law(rule, p, q)
            assert law.tolist() == [weight * a + (1 - weight) * b for a, b in zip(p, q, strict=True)]
            assert acceptance(rule, p, q) == 1 - weight * tv(p, q) == frontier(p, q, tv(law, p))
            assert alpha(p, q) == 1 - tv(p, q)


def test_a_cascade_is_lossless_against_its_own_law() -> None:
    for pair in PAIRS:
        p, q = (np.array([F(mass) for mass in row], dtype=object) for row in pair)
        rule = Cascade(HALF)
        own = rule.law_of_cascade(p, q)
        assert sum(own) == 1
        assert step_law(rule, p, q).tolist() == own.tolist()
        assert acceptance(rule, p, q) == 1 - tv(own, q)


def test_medusa_beside_the_rule_of_its_paper() -> None:
    """The logarithm of p + 1e-5 lets the code keep what the paper's entropy rejects: p = 3/10 within 1e-5 of it."""
    flat = (F(1, 4),) * 4
    exact, code = (rule.accept(flat, flat, 0) for rule in (Typical(1, 1), MedusaReference(1, 1)))
    assert (exact, code) == (0, 0)
    assert [
        Typical(1, F(99999, 100000)).accept(flat, flat, 0),
        MedusaReference(1, F(99999, 100000)).accept(flat, flat, 0),
    ] == [1, 0]


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_a_draft_without_mass_is_accepted(make: Callable[[Any], Any]) -> None:
    p, q = make([0.5, 0.5, 0.0]), make([0.5, 0.0, 0.5])
    for name, parameters in SUCCESSORS:
        assert float(make_rule(name, **parameters).accept(p, q, 1)) == 1

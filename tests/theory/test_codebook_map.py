"""The map over a codebook: each point against a second computation, all of them against both frontiers."""

from __future__ import annotations

import numpy as np
import ot
import pytest

from experiments.measurements import codebook
from simlab.processes import make_process
from simlab.rules import Addition, Amplify, codebook_distances
from tests.support.frontiers import below, nearest_frontier
from theory.acceptance import alpha
from theory.contexts import Contexts, addition_to, amplify_to, likeliest, means, visited
from theory.distances import tv
from theory.example_processes import codebook_pairs

pytestmark = pytest.mark.exact

SEED, CONTEXTS = 3, 6


@pytest.fixture(scope="module")
def measured() -> codebook.Measured:
    return codebook.measure(SEED, CONTEXTS)


def test_every_family_is_there_and_only_the_lossless_rule_spends_nothing(measured: codebook.Measured) -> None:
    table = measured.map
    assert {"speculative", "amplify", "addition", "optimal-lossy", *codebook.WITHOUT_TABLES} <= set(table["rule"])
    assert set(table["neighbours"].dropna()) == set(codebook.NEIGHBOURS)
    assert not table.duplicated(["rule", "neighbours", "parameter"]).any()
    lossless = table["rule"] == "speculative"
    np.testing.assert_allclose(table.loc[lossless, ["tv", "wasserstein"]], 0, atol=1e-12)
    np.testing.assert_allclose(table.loc[lossless, "acceptance"], table.loc[lossless, "lossless"], rtol=1e-12)
    whole = table["rule"].isin(["fuzzy", "mars"])  # they decide on whole rows, of six perhaps on none
    assert (table.loc[~lossless & ~whole, ["tv", "kl", "wasserstein"]] > 1e-4).all(axis=None)
    assert (table[whole].groupby("rule")[["tv", "kl", "wasserstein"]].max() > 1e-4).all(axis=None)


@pytest.mark.parametrize("place", [3, 15, 22, 33, 40, 50, 65, 90, 100])
def test_a_point_is_what_its_rule_does_in_each_context(measured: codebook.Measured, place: int) -> None:
    """Once more, context by context and draft by draft."""
    pairs = codebook_pairs(SEED, CONTEXTS)
    distances = codebook_distances(pairs.codebook)
    point = list(codebook.points(pairs.codebook))[place]
    kept, off, moved = [], [], []
    for p, q in zip(pairs.p, pairs.q, strict=True):
        accepted = [float(point.made.accept(p, q, x)) for x in range(len(p))]
        law = np.zeros(len(p))
        for x, a in enumerate(accepted):
            law[x] += q[x] * a
            law += q[x] * (1 - a) * point.made.residual(p, q, x)
        kept.append(float(q @ accepted))
        off.append(abs(law - p).sum() / 2)
        moved.append(ot.emd2(law / law.sum(), p / p.sum(), distances))
    row = measured.map.iloc[place]
    assert (row["rule"], row["parameter"]) == (point.rule, pytest.approx(point.parameter))
    np.testing.assert_allclose(
        row[["acceptance", "tv", "wasserstein"]].astype(float), [np.mean(kept), np.mean(off), np.mean(moved)], atol=1e-9
    )


def test_no_rule_crosses_either_frontier(measured: codebook.Measured) -> None:
    points, bound = measured.map, measured.frontier
    assert (points["acceptance"] <= points["lossless"] + points["tv"] + 1e-12).all()
    assert not below(points, bound).any()
    # the check does see points that are too good
    assert below(points.assign(wasserstein=0.2 * points["wasserstein"]), bound).any()


def test_the_frontier_runs_from_nothing_to_the_whole_distance(measured: codebook.Measured) -> None:
    pairs = codebook_pairs(SEED, CONTEXTS)
    distances = codebook_distances(pairs.codebook)
    whole = np.mean([ot.emd2(p, q, distances) for p, q in zip(pairs.p, pairs.q, strict=True)])
    most = float((1 - alpha(pairs.p, pairs.q)).mean())
    line = measured.frontier
    first, last = line.iloc[0], line.iloc[-1]
    assert (first["gained"], first["wasserstein"]) == (0, 0)
    assert (last["gained"], last["wasserstein"]) == (pytest.approx(most), pytest.approx(whole, rel=1e-6))
    assert (line[["gained", "wasserstein"]].diff().dropna() >= -1e-12).all(axis=None)


def test_the_same_gain_everywhere_costs_more_than_one_price(measured: codebook.Measured) -> None:
    pairs, bound = codebook_pairs(SEED, CONTEXTS), measured.frontier
    distances, lossless = codebook_distances(pairs.codebook), alpha(pairs.p, pairs.q)
    dearer = []
    for gain in (0.05, 0.15, 0.3):
        accepted = np.minimum(lossless + gain, 1.0)  # a context cannot gain more than it lacks
        rows = zip(pairs.p, pairs.q, accepted, strict=True)
        spent = np.mean([nearest_frontier(p, q, kept, distances) for p, q, kept in rows])
        dearer.append(spent / np.interp((accepted - lossless).mean(), bound["gained"], bound["wasserstein"]))
    assert min(dearer) >= 0.999
    assert max(dearer) > 1.1


# Contexts that a target visits ---------------------------------------------------------------------------------------


PAIR = make_process("codebook", vocabulary=96, length=8, dimension=3, clusters=6, temperature=0.1, draft_noise=1.0)


@pytest.fixture(scope="module")
def contexts() -> Contexts:
    return visited(PAIR, 12, seed=0, sequences=4)


def test_contexts_are_rows_of_the_processes(contexts: Contexts) -> None:
    assert contexts.p.shape == contexts.q.shape == (12, 96)
    np.testing.assert_allclose(contexts.p.sum(axis=1), 1, atol=1e-12)
    assert contexts.lossless == pytest.approx(float((1 - tv(*contexts)).mean()))
    top = likeliest(contexts)
    assert (top.q.sum(axis=1) == 1).all()
    assert (top.q.argmax(axis=1) == contexts.q.argmax(axis=1)).all()
    assert len(visited(PAIR, 5, seed=0, sequences=2).p) == 5
    assert (visited(PAIR, 5, seed=3, sequences=2).p != visited(PAIR, 5, seed=4, sequences=2).p).any()
    for count, error in ((0, "count is 0"), (33, "count is 33; expected at most 32")):
        with pytest.raises(ValueError, match=error):
            visited(PAIR, count, seed=0, sequences=4)
    with pytest.raises(ValueError, match="no draft"):
        visited(PAIR._replace(draft=None), 3, seed=0)


def test_naive_rules_accept_what_was_asked_for(contexts: Contexts) -> None:
    for wanted in (contexts.lossless, contexts.lossless + 0.05, 0.9):
        k, epsilon = amplify_to(contexts, wanted), addition_to(contexts, wanted)
        assert means(contexts, Amplify(k)).acceptance == pytest.approx(wanted, abs=1e-9)
        assert means(contexts, Addition(epsilon)).acceptance == pytest.approx(wanted, abs=1e-9)
    found = means(contexts, Amplify(2), lambda law, p: float(tv(law, p)))
    assert found.wasserstein == pytest.approx(found.tv)
    for wanted in (contexts.lossless / 2, 1.1):
        with pytest.raises(ValueError, match="what the rule can accept"):
            amplify_to(contexts, wanted)

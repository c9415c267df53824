"""Contexts that a target visits, and the mean acceptance and distortion of rules over them."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.processes import make_process
from simlab.rules import Addition, Amplify
from theory.contexts import Contexts, addition_to, amplify_to, likeliest, means, visited
from theory.distances import tv

pytestmark = pytest.mark.exact

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

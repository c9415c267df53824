"""Every rule, way of drawing candidates and verifier of them says the same in NumPy, ``Fraction`` and torch.

The names are those of the registries, so that what is added there is tested here or fails for want of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest

from simlab.candidates import CANDIDATES, VERIFIERS, drawn_law, make_candidates, make_verifier
from simlab.rules import RULES, make_rule
from tests.support.cases import rule_parameters

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.exact

ROUNDING = 1e-13
PAIRS = [
    ((F(1, 2), F(5, 16), F(3, 16)), (F(3, 16), F(1, 4), F(9, 16))),
    ((F(0), F(5, 8), F(3, 8)), (F(1, 2), F(1, 2), F(0))),
]
ARITHMETICS: dict[str, Callable[[Any], Any]] = {
    "Fraction": lambda rows: np.array(rows, dtype=object),
    "NumPy": lambda rows: np.array(rows, dtype=np.float64),
    "torch": lambda rows: torch.tensor(np.array(rows, dtype=np.float64)),
}
Answer = list[Any]


def of_rule(name: str, make: Callable[[Any], Any]) -> Iterator[Answer]:
    """Acceptance and residual of every token of each pair, with all parameters there are for this rule."""
    for (_, given), (p, q) in product((case for case in rule_parameters(3) if case[0] == name), PAIRS):
        rows = make([p] * 3), make([q] * 3)
        x = np.arange(3) if isinstance(rows[0], np.ndarray) else torch.arange(3)
        rule = make_rule(name, **given)
        yield from (each.tolist() for each in (rule.accept(*rows, x), rule.residual(*rows, x)))


def of_drawing(name: str, make: Callable[[Any], Any]) -> Iterator[Answer]:
    """What the next of up to three candidates is drawn from, whatever came before."""
    candidates = make_candidates(name)
    for (_, q), count, last in product(PAIRS, range(3), (False, True)):
        row = make([q])
        for drawn in product(range(3), repeat=count):
            before = np.array([drawn], dtype=np.int64)
            before = before if isinstance(row, np.ndarray) else torch.tensor(before)
            yield candidates.row(row, before, last).tolist()


def of_verifier(name: str, make: Callable[[Any], Any]) -> Iterator[Answer]:
    """What is accepted and what is drawn, for one and for two candidates of every kind that it takes."""
    verifier = make_verifier(name)
    kinds = [made for made in map(make_candidates, CANDIDATES) if isinstance(made, verifier.takes)]
    for kind, (p, q), count in product(kinds, PAIRS, (1, 2)):
        x = np.array(list(drawn_law(kind, np.array(q, dtype=object), count)))
        rows = make([p] * len(x)), make([q] * len(x))
        tokens = x if isinstance(rows[0], np.ndarray) else torch.tensor(x)
        yield from (each.tolist() for each in verifier.verify(*rows, tokens, kind))


WHAT = [
    *(pytest.param(of_rule, name, id=f"rule {name}") for name in RULES),
    *(pytest.param(of_drawing, name, id=f"candidates {name}") for name in CANDIDATES),
    *(pytest.param(of_verifier, name, id=f"verifier {name}") for name in VERIFIERS),
]


def apart(answers: Callable[..., Iterator[Answer]], name: str) -> float:
    """The largest difference between the three; fails where there is nothing to ask."""
    found = [list(answers(name, make)) for make in ARITHMETICS.values()]
    assert found[0], f"no parameters for {name}: add some to tests.support.cases"
    exact, *others = ([np.array(answer, dtype=float) for answer in one] for one in found)
    return max(float(np.abs(a - b).max()) for other in others for a, b in zip(exact, other, strict=True))


@pytest.mark.parametrize(("answers", "name"), WHAT)
def test_numpy_fractions_and_torch_agree(answers: Callable[..., Iterator[Answer]], name: str) -> None:
    assert apart(answers, name) < ROUNDING


def test_one_that_differs_or_is_not_listed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Differs(RULES["speculative"]):  # type: ignore[misc,name-defined]
        def accept_rows(self, p: Any, q: Any, x: Any) -> Any:
            return super().accept_rows(p, q, x) * (1 if isinstance(p, np.ndarray) else 0.5)

    monkeypatch.setitem(RULES, "speculative", Differs)
    assert apart(of_rule, "speculative") > 0.1
    monkeypatch.setitem(RULES, "another", Differs)
    assert apart(of_rule, "another") > 0.1

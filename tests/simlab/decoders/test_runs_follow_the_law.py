"""What decoders emit on the tape follows the law they are proven to have, sequences and steps.

Enumeration cannot see whether the real random numbers are independent; this can. Each pair of decoder and rule is
run ``SEQUENCES`` times on a float table and compared, by the G-test over pooled outcomes, with the exact laws of
sequences and of steps. All p-values are judged together by Holm's method at a false-alarm rate of 1e-6 for the
whole family; the smallest TV that would be detected with power 0.999 is computed, printed and bounded. The same
test is then seen failing on wrong variants at a tenth of the sequences, with a power that is computed first from their
own exact laws.
"""

from __future__ import annotations

from typing import Any

import pytest
from statsmodels.stats.multitest import multipletests

from simlab import mutants
from simlab.decoders import Sjd, make_decoder
from simlab.rules import Speculative, make_rule
from simlab.statistics import POWER, GTest
from tests.support.cases import nearest, tree
from tests.support.runs import FALSE_ALARMS, FEW, SEQUENCES, laws, observed

pytestmark = pytest.mark.statistical

SMALLEST_TV = 0.016  # what must be detected with power 0.999, in either law

CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("autoregressive", {}, "speculative", {}),
    ("speculative", {"gamma": 2}, "speculative", {}),
    ("speculative", {"gamma": 3}, "amplify", {"k": 1.5}),
    ("jacobi", {"window": 2}, "speculative", {}),
    ("jacobi", {"window": 3, "noise": "fixed"}, "speculative", {}),
    ("sjd", {"window": 3}, "speculative", {}),
    ("sjd", {"window": 2, "initial": "repeat-left"}, "grouped", {"labels": [0, 0, 1]}),
    ("sjd", {"window": 2, "initial": "repeat-above", "bonus": False}, "speculative", {}),
    ("sjd", {"window": 2, "initial": "sample-left"}, "addition", {"epsilon": 0.1}),
    ("sjd", {"window": 1, "initial": "sample-above"}, "dynamic-grouped", {"size": 2}),
    ("sjd-unrefined", {"window": 2}, "speculative", {}),
    ("sjd-reference", {"window": 3}, "grouped-group-residual", {"labels": [0, 1, 1]}),
    ("block", {"gamma": 3}, "speculative", {}),
    ("sjd-ac", {"window": 3, "relabel": "law"}, "lantern", {"neighbours": nearest(3), "delta": 0.5}),
    ("sjd-pd", tree(2, 2, 2, "full"), "speculative", {}),
    ("sjd-pac", tree(3, 2, 1), "speculative", {}),
]
LEVEL = FALSE_ALARMS / (2 * len(CASES))  # the strictest that Holm's method asks of any of them


@pytest.mark.slow
def test_every_pair_of_decoder_and_rule_follows_its_exact_law() -> None:
    p_values = {}
    for name, parameters, rule_name, setting in CASES:
        decoder, rule = make_decoder(name, **parameters), make_rule(rule_name, **setting)
        exact, seen = laws(decoder, rule), observed(decoder, rule)
        for what, law in exact.items():
            if len(law) == 1:  # steps that cannot vary
                assert seen[what].keys() == law.keys()
                continue
            test = GTest(law)
            stated = test.stated(SEQUENCES, LEVEL)
            of = f"{name} {parameters} x {rule_name}, {what}"
            p_values[of] = test.p_value(seen[what])
            print(f"{of}: p = {p_values[of]:.3g}; {stated}")
            assert stated.detectable < SMALLEST_TV
    assert not multipletests(list(p_values.values()), FALSE_ALARMS, "holm")[0].any()


WRONG = {
    "one coin for all positions": (mutants.WithRandomness(Sjd(2), mutants.OneCoin), Speculative(), Sjd(2)),
    "one uniform for all draws": (mutants.WithRandomness(Sjd(2), mutants.OneUniform), Speculative(), Sjd(2)),
    "tail drawn again, q stale": (mutants.TailStale(2), Speculative(), Sjd(2)),
    "residual = p": (Sjd(2), mutants.ResidualIsTarget(), Sjd(2)),
    "bonus from the residual": (mutants.BonusFromResidual(2), Speculative(), make_decoder("speculative", gamma=2)),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_variants_are_caught(what: str) -> None:
    """Run as they are on the tape, and held against the law of the right one."""
    decoder, rule, right = WRONG[what]
    test = GTest(laws(right, Speculative())["sequences"])
    assert test.power_against(FEW, LEVEL, laws(decoder, rule)["sequences"]) > POWER
    assert test.p_value(observed(decoder, rule, FEW)["sequences"]) < LEVEL

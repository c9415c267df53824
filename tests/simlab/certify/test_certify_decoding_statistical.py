"""Decoders of whole sequences that are called: correct ones pass, wrong ones are found.

The tests of one callable raise a false alarm with probability at most 1e-6 together, whatever the number of calls;
there are about 20 correct ones here.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simlab.certify import certify
from simlab.certify.battery.decoding import cases
from simlab.certify.contracts.base import Function
from simlab.certify.contracts.decoding import DecodeCase
from simlab.certify.engine.evidence import FALSE_ALARMS, Finding, calls_needed
from simlab.mutants.gated.contracts import implementation
from simlab.mutants.gated.correct import CORRECT
from simlab.mutants.gated.gates import ALWAYS
from simlab.statistics import Sequential
from tests.support.certify import case_named, evidence

pytestmark = [pytest.mark.statistical, pytest.mark.slow]

SEED = 5
TESTS = sum(len(case.events) for case in cases())


def found(function: Function, calls: int, tried: Sequence[DecodeCase] = cases()) -> Finding | None:
    """What ``calls`` of every case show."""
    return evidence(tried, function, calls, SEED).finding


@pytest.mark.parametrize("name", CORRECT["decode"])
def test_correct_decoders_pass(name: str) -> None:
    assert found(CORRECT["decode"][name], 150) is None


def wrong(name: str) -> Function:
    """The fault without a gate."""
    return implementation(name, ALWAYS, "decode")


def easy() -> dict[str, tuple[DecodeCase, int]]:
    """Bugs that 2000 calls of a case show with power 0.999; the case and the calls."""
    needed = {}
    for case in cases():
        for name, law in case.known_laws.items():
            if abs(law - case.events[0].law).sum() > 0.1 and name not in needed:
                calls = calls_needed(case, law, FALSE_ALARMS / TESTS, 0.999)
                if calls is not None and calls <= 2000:
                    needed[name] = case, calls
    return needed


def test_bugs_are_found() -> None:
    """As soon as planned, and most bugs are easy."""
    planned = easy()
    assert len(planned) >= 25
    missed = [name for name, (case, calls) in planned.items() if found(wrong(name), calls, [case]) is None]
    assert missed == []


def test_shared_gumbel_noise_is_found() -> None:
    """Its TV is 0.0267 in one token of six; without a bet on it, 41000 calls see 0.0253 with power 0.999."""
    one = case_named("decode", "one token")
    assert Sequential(one.events[0].law).detectable(41_000, FALSE_ALARMS / TESTS) < 0.0253
    assert found(wrong("proposal and recovery share Gumbel noise"), 41_000, [one]) is not None


# Certificates ----------------------------------------------------------------------------------------------------


def test_a_decoder_that_breaks_gets_a_certificate_that_says_so() -> None:
    certificate = certify(wrong("end of the sequence inside a block missed"), "decode", calls=20, processes=1)
    assert certificate.verdict == "breaks"
    assert "tokens behind eos" in certificate.summary

"""Claims on the trained pair: verdicts follow the measured numbers, and a fall or a rise that is there is seen."""

from __future__ import annotations

import copy

import pytest

from theory.claims import CLAIMS
from theory.claims.cspd import trained_pair

pytestmark = pytest.mark.exact
IDS = [id for id in CLAIMS if id.startswith("cspd.pair.")]
HIGHER = {"cspd.pair.gamma": "gamma 16", "cspd.pair.in-place": "in place", "cspd.pair.prefill": "gamma 4"}
HIGHER["cspd.pair.alignment"] = "two-path, independent noise"


@pytest.mark.parametrize("id", IDS)
def test_a_verdict_follows_the_numbers(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    decide = CLAIMS[id].decide
    assert decide is not None
    assert decide(0).verdict == "not-refuted"
    other = copy.deepcopy(trained_pair.measured())
    if id == "cspd.pair.sigma":
        other["settings"]["gamma 4"]["sigma_adds"]["mean"] -= 1.0
    else:
        other["settings"][HIGHER[id]]["acceptance"]["mean"] += 1.0
    monkeypatch.setattr(trained_pair, "measured", lambda: other)
    assert decide(0).verdict == "refuted"


def test_errors_are_small_enough_to_say_something() -> None:
    rates = [setting["acceptance"] for setting in trained_pair.measured()["settings"].values()]
    assert max(rate["error"] for rate in rates) < 0.05

"""Known bugs and correct implementations as processes: found by name, or passed, and those of no use left out."""

from __future__ import annotations

import pytest

from experiments.certification import self_test_known
from experiments.certification.known_process import known
from experiments.certification.self_test_known import process_row, processes
from simlab.mutants.catalogue import Implementation


@pytest.mark.slow
def test_rows_of_the_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [bug for bug in known(True) if bug.contract == "verify"]
    right = next(one for one in known(False) if one.contract == "verify")

    def fewer(bugs: bool) -> list[Implementation]:
        return wrong if bugs else [right]

    monkeypatch.setattr(self_test_known, "known", fewer)
    monkeypatch.setattr(self_test_known, "CALLS", 5)
    chosen = processes(quick=False, sampled={("verify", "ratio inverted")})
    found, passed = (process_row(one, 0, wrong) for one, wrong in chosen)
    assert (found["name"], found["wrong"], found["verdict"], found["named"]) == ("ratio inverted", True, "lossy", True)
    assert (passed["name"], passed["wrong"]) == (right.name, False)
    assert passed["verdict"] == "inconclusive"

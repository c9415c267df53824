"""Put every rule through a recording: what it would accept where a run has been, without a network.

For each verified draft a rule has the probability min(1, rho) of accepting it, computed and not sampled; ``acceptance``
is its mean with an error over images, and ``decisions`` the share of recorded decisions that the rule takes on the
recorded coins. Trajectories share their noise or do not, as the recorded rule had it, and every rule is put through
those. A recording has the drafts of a block up to the first that was rejected in the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.models.continuous.recording import Recording
from simlab.continuous.rules import RULES, make_rule
from simlab.continuous.rules.base import Rule, log_acceptance
from simlab.statistics import estimate


def replay(recording: Recording, names: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """A row a rule; ``refused`` says why a rule has no ratio there, and is None where it has.

    Raises ``ValueError`` for an unknown rule.
    """
    return [_row(recording, make_rule(name, aligned=recording.manifest["aligned"])) for name in names or tuple(RULES)]


def _row(recording: Recording, rule: Rule) -> dict[str, Any]:
    empty = dict.fromkeys(("acceptance", "error", "decisions"))
    try:
        rule.check(recording.target, recording.draft)
        rates = np.exp(log_acceptance(rule.log_draft_ratio(recording.pair)))
    except ValueError as error:
        return {"rule": rule.name, **empty, "refused": str(error)}
    held = recording.arrays
    images = np.unique(held["replicate"], return_inverse=True)[1]
    means = np.bincount(images, rates) / np.bincount(images)
    return {
        "rule": rule.name,
        "acceptance": float(rates.mean()),
        "error": estimate(means).error if len(means) > 1 else None,
        "decisions": float(((held["coin"] < rates) == held["accepted"]).mean()),
        "refused": None,
    }

"""Drafts accepted are summed over every draft; one by one each is accepted with its own min(1, p/q)."""

from _shared import accepted, by_block, capped, outcomes, running_maximum


def recompute(examples):
    (entry,) = examples
    p, q, gamma = entry["p"], entry["q"], entry["gamma"]
    found = accepted(outcomes(p, q, gamma, running_maximum, capped))
    block, rate = by_block(p, q, gamma), sum(min(a, b) for a, b in zip(p, q))
    assert found <= block + 1e-12, "it accepts more"
    return [{"accepted": found, "by_block": block, "by_token": sum(rate**k for k in range(1, gamma + 1))}]

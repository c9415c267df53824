"""Every draft and every place to stop are listed, with joint probabilities as the code has them."""

from _shared import accepted, by_block, first_law, joint, outcomes, running_maximum, uncapped


def recompute(examples):
    (entry,) = examples
    p, q, gamma = entry["p"], entry["q"], entry["gamma"]
    found = outcomes(p, q, gamma, running_maximum, uncapped)
    law = first_law(p, found, gamma)
    right = [joint(p, (a, b)) for a in range(len(p)) for b in range(len(p))]
    apart = sum(abs(a - b) for a, b in zip(law, right)) / 2
    assert apart > 0.05, "it is lossless here"
    return [{"law": law, "tv": apart, "accepted": accepted(found), "by_block": by_block(p, q, gamma)}]

"""Every draft and every place to stop are listed, a prefix counting for the smaller of its two probabilities."""

from itertools import product

from _shared import capped, first_law, joint, outcomes


def recompute(examples):
    (entry,) = examples
    p, q, gamma = entry["p"], entry["q"], entry["gamma"]
    law = first_law(p, outcomes(p, q, gamma, lambda one, two, highest: min(one, two), capped), gamma)
    right = [joint(p, tokens) for tokens in product(range(len(p)), repeat=gamma)]
    apart = sum(abs(a - b) for a, b in zip(law, right)) / 2
    assert apart > 0.05, "it is lossless here"
    return [{"law": law, "tv": apart}]

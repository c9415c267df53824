"""All pairs of drafts are listed, with the weights of both kinds of verification."""

from itertools import product


def recompute(examples):
    (entry,) = examples
    p, q, gamma = entry["p"], entry["q"], entry["gamma"]
    by_token = by_block = 0.0
    for drafts in product(range(len(p)), repeat=gamma):
        chance = token = block = 1.0
        for x in drafts:
            chance *= q[x]
        for x in drafts:
            token *= min(1, p[x] / q[x])
            block = min(1, block * p[x] / q[x])
            by_token += chance * token
            by_block += chance * block
    assert by_block > by_token
    return [{"by_token": by_token, "by_block": by_block}]

"""What the witnesses of hierarchical verification have in common: rows that depend on nothing, every outcome listed."""

from itertools import product


def joint(row, tokens):
    """The probability of independent tokens."""
    mass = 1.0
    for token in tokens:
        mass *= row[token]
    return mass


def outcomes(p, q, gamma, reached, whole):
    """Every (tokens committed, drafts accepted, probability) of one block, stepping back from its last draft.

    ``reached(P, Q, highest)`` is what a prefix counts for, ``whole(ratio, highest)`` accepts all drafts.
    """
    found = []
    for drafts in product(range(len(p)), repeat=gamma):
        prefixes = [drafts[:k] for k in range(gamma + 1)]
        ratios = [joint(p, x) / joint(q, x) if joint(q, x) else 0.0 for x in prefixes]
        highest = [max([1.0, *ratios[: k + 1]]) for k in range(gamma + 1)]
        left = joint(q, drafts)
        taken = left * whole(ratios[gamma], highest[gamma - 1])
        found += [((*drafts, y), gamma, taken * p[y]) for y in range(len(p))]
        left -= taken
        for k in range(gamma - 1, -1, -1):
            x = prefixes[k]
            gaps = [reached(joint(p, x), joint(q, x), highest[k]) * a - joint(q, x) * b for a, b in zip(p, q)]
            above, below = sum(max(g, 0.0) for g in gaps), sum(max(-g, 0.0) for g in gaps)
            taken = left if k == 0 or max(above, below) == 0 else left * above / max(above, below)
            rest = [max(g, 0.0) / above for g in gaps] if above else list(p)
            found += [((*x, y), k, taken * rest[y]) for y in range(len(p))]
            left -= taken
    return found


def running_maximum(reached_p, reached_q, highest):
    """The published code's prefix: the target's probability over the running maximum of the ratios."""
    return reached_p / highest


def uncapped(ratio, highest):
    """The published code's last step."""
    return min(1.0, ratio)


def capped(ratio, highest):
    """The last step that makes it lossless."""
    return min(1.0, ratio / highest)


def first_law(p, found, gamma):
    """The law of the first gamma tokens, in the order of the tokens: what is committed, completed by p."""
    law = []
    for tokens in product(range(len(p)), repeat=gamma):
        mass = 0.0
        for emitted, _, weight in found:
            if emitted[:gamma] == tokens[: len(emitted)]:
                mass += weight * joint(p, tokens[len(emitted) :])
        law.append(mass)
    return law


def accepted(found):
    """Drafts accepted in the mean."""
    return sum(count * weight for _, count, weight in found)


def by_block(p, q, gamma):
    """Drafts that block verification accepts in the mean: prefix i with weight min(1, w p/q)."""
    mean = 0.0
    for k in range(1, gamma + 1):
        for tokens in product(range(len(p)), repeat=k):
            weight = 1.0
            for x in tokens:
                weight = min(1.0, weight * p[x] / q[x]) if q[x] else 0.0
            mean += joint(q, tokens) * weight
    return mean

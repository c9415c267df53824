"""Two candidates, drawn without replacement, are verified in turn by listing them; the optimum is the least cut."""

from itertools import product


def recompute(examples):
    (entry,) = examples
    p, q = entry["p"], entry["q"]
    tokens = range(len(p))
    rest = [max(a - b, 0.0) for a, b in zip(p, q)]
    after = [x / sum(rest) for x in rest]
    in_turn = 0.0
    for x in tokens:  # the first candidate
        coin = min(1.0, p[x] / q[x])
        second = [0.0 if y == x else q[y] / (1 - q[x]) for y in tokens]
        in_turn += q[x] * (coin + (1 - coin) * sum(min(a, b) for a, b in zip(after, second)))
    cuts = []
    for inside in product((False, True), repeat=len(p)):
        held = sum(q[x] * q[y] / (1 - q[x]) for x in tokens for y in tokens if x != y and inside[x] and inside[y])
        cuts.append(sum(p[x] for x in tokens if inside[x]) + 1 - held)
    assert min(cuts) > in_turn + 1e-9
    return [{"in_turn": in_turn, "most": min(cuts), "tv": 0}]

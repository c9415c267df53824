"""Two drafts, all draws of a call from one uniform number: the calls are followed by hand.

The first call has drafts 0 0 or 1 1, each declared uniform. Of two tokens the residual is a point mass on the other
one; so a second draft that is drawn again follows the row after the old first token.
"""


def recompute(examples):
    (entry,) = examples
    rows, law = entry["p"], {}

    def verify(p, q, x):
        coin = min(1.0, p[x] / q[x])
        return {x: coin, 1 - x: 1 - coin}

    for a in (0, 1):
        first = verify(rows[""], [0.5, 0.5], a)
        for x in (0, 1):
            chance = first[x] / 2
            if chance == 0:
                continue
            row = rows[str(x)]
            if x == a:  # accepted: the second draft is a as well
                second = verify(row, [0.5, 0.5], a)
            else:  # rejected: the second draft is drawn again from the row after a, and verified in the next call
                old, second = rows[str(a)], {0: 0.0, 1: 0.0}
                for b in (0, 1):
                    if old[b]:
                        for y, then in verify(row, old, b).items():
                            second[y] += old[b] * then
            for y, then in second.items():
                key = f"{x} {y}"
                law[key] = law.get(key, 0.0) + chance * then
    target = {f"{x} {y}": rows[""][x] * rows[str(x)][y] for x in (0, 1) for y in (0, 1)}
    apart = sum(abs(law.get(key, 0) - mass) for key, mass in target.items()) / 2
    assert apart > 0.01
    return [
        {
            "law": {key: mass for key, mass in law.items() if mass},
            "target": {key: mass for key, mass in target.items() if mass},
            "tv": apart,
        }
    ]

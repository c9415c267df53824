"""The loop is followed over two tokens: both drafts at random, then the second as an argmax.

Both drafts of the first call are uniform and scored as point masses. A rejected first draft is replaced from the
positive part of p minus its point mass; the second draft is then the argmax of the row after the old first token.
"""


def recompute(examples):
    (entry,) = examples
    rows = entry["p"]
    law = {}

    def emit(sequence, mass):
        key = " ".join(map(str, sequence))
        law[key] = law.get(key, 0.0) + mass

    def verified(p, q, x):
        # (token, probability, whether it was accepted)
        ratio = min(1.0, p[x] / q[x])
        yield x, ratio, True
        part = [max(a - b, 0.0) for a, b in zip(p, q)]
        for y in (0, 1):
            if part[y] and ratio < 1:
                yield y, (1 - ratio) * part[y] / sum(part), False

    one = {x: [float(x == y) for y in (0, 1)] for x in (0, 1)}
    for a in (0, 1):
        for b in (0, 1):
            for x, chance, accepted in verified(rows[""], one[a], a):
                if accepted:
                    for y, then, _ in verified(rows[str(x)], one[b], b):
                        emit((x, y), chance * then / 4)
                else:
                    q = rows[str(a)]
                    for y, then, _ in verified(rows[str(x)], q, q.index(max(q))):
                        emit((x, y), chance * then / 4)
    law = {key: mass for key, mass in law.items() if mass > 0}
    target = {f"{x} {y}": rows[""][x] * rows[str(x)][y] for x in (0, 1) for y in (0, 1) if rows[""][x]}
    apart = sum(abs(law.get(key, 0) - mass) for key, mass in target.items()) / 2
    assert apart > 0.01
    assert max(law.values()) < 1
    return [{"law": law, "target": target, "tv": apart}]

"""Three rules that accept the same share of drafts, by hand: what each accepts of every token, and the rejected rest to
the tokens of which the target has more.
"""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    exact = entry["exact"]
    p, q = ([Fraction(x) for x in exact[row]] for row in "pq")
    k, epsilon = Fraction(exact["k"]), Fraction(exact["epsilon"])
    both = [(p[0] + p[1]) / (q[0] + q[1])] * 2 + [p[2] / q[2]]
    ratios = {
        "gsd": both,
        "amplify": [k * x / y for x, y in zip(p, q)],
        "addition": [(x + epsilon) / y for x, y in zip(p, q)],
    }
    tv, share = {}, {}
    for name, each in ratios.items():
        kept = [y * min(1, ratio) for y, ratio in zip(q, each)]
        gaps = [max(0, x - y) for x, y in zip(p, q)]
        law = [x + (1 - sum(kept)) * gap / sum(gaps) for x, gap in zip(kept, gaps)]
        tv[name], share[name] = sum(abs(x - y) for x, y in zip(law, p)) / 2, sum(kept)
    lossless = sum(map(min, p, q))
    assert len(set(share.values())) == 1
    assert tv["amplify"] == tv["addition"] == share["gsd"] - lossless <= tv["gsd"]
    return [
        {
            "acceptance": share["gsd"],
            "acceptance_speculative": lossless,
            "tv": tv["gsd"],
            "tv_amplify": tv["amplify"],
            "tv_addition": tv["addition"],
        }
    ]

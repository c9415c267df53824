"""The law of one token by rules that are meant to deviate; one draft of q, or of Medusa the draft's likeliest."""

from math import sqrt

P, Q = (0.5, 0.5), (0.75, 0.25)  # target and draft


def law(aim):  # speculative sampling of a law that depends on the draft
    out = [0.0, 0.0]
    for x in (0, 1):
        kept = min(1, aim(x)[x] / Q[x])
        left = [max(0, share - q) for share, q in zip(aim(x), Q, strict=True)]
        for z in (0, 1):
            out[z] += Q[x] * (kept * (x == z) + (1 - kept) * left[z] / (sum(left) or 1))
    return out


def cactus(x):
    raised = min(1, P[x] + sqrt(2 * 0.05 * P[x] * (1 - P[x])))
    return [raised if z == x else P[z] * (1 - raised) / (1 - P[x]) for z in (0, 1)]


found = {"ensemble": law(lambda x: [(p + q) / 2 for p, q in zip(P, Q, strict=True)]), "cactus": law(cactus)}
found["typical"] = [1.0, 0.0]  # 1/2 is above its threshold: kept without a coin
for name, shares in found.items():
    print(f"{name:9} comes out:", *(f"{share:.3f}" for share in shares), " should:", *P)

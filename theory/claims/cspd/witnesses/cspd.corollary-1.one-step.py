"""By running it: x_1, the draft, its rejection, and proposals one after the other, two hundred of them."""


def recompute(examples):
    (entry,) = examples
    law, rejected = [0.0] * 4, 0.0
    for s, chance in enumerate(entry["start"]):
        p, q = entry["p"][s], entry["q"][s]
        waiting = chance * sum(q[x] * (1 - min(1, p[x] / q[x])) for x in (0, 1))
        rejected += waiting
        for _ in range(200):
            taken = [waiting * max(0, p[x] - q[x]) for x in (0, 1)]
            law[2 * s] += taken[0]
            law[2 * s + 1] += taken[1]
            waiting -= sum(taken)
    rest = [max(0, a * (m - n)) for a, p, q in zip(entry["start"], entry["p"], entry["q"]) for m, n in zip(p, q)]
    assert max(abs(a - b) for a, b in zip(law, rest)) < 1e-9
    return [{"law": [m / rejected for m in law], "z": sum(rest)}]

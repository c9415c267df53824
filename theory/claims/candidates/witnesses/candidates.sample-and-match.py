"""All candidates and the token from p are listed."""

from itertools import product


def recompute(examples):
    (entry,) = examples
    p, q = entry["p"], entry["q"]
    found = {"one": 0.0, "two": 0.0}
    for y, a, b in product(range(len(p)), repeat=3):
        chance = p[y] * q[a] * q[b]
        found["one"] += chance * (y == a)
        found["two"] += chance * (y in (a, b))
    return [found]

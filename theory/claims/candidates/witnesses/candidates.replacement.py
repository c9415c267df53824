"""The smallest cut over all sets of tokens, the probabilities of staying within one listed draw by draw."""

from itertools import combinations, product


def recompute(examples):
    (entry,) = examples
    p, q, count = entry["p"], entry["q"], entry["candidates"]
    tokens = range(len(p))

    def within(inside, again):
        total = 0.0
        for drawn in product(inside, repeat=count):
            chance, left = 1.0, 1.0
            for k, x in enumerate(drawn):
                if not again and x in drawn[:k]:
                    chance = 0.0
                    break
                chance *= q[x] / left
                left -= 0.0 if again else q[x]
            total += chance
        return total

    def optimum(again):
        sets = [inside for size in range(len(p) + 1) for inside in combinations(tokens, size)]
        return min(sum(p[x] for x in inside) + 1 - within(inside, again) for inside in sets)

    found = {"without": optimum(False), "replaced": optimum(True)}
    assert found["without"] >= found["replaced"]
    return [found]

"""The published sampler is followed column by column: every draw, every coin and every path, as the code has them.

Where the first call is mended the second candidate of a column is another one than the first there, too.
"""

from fractions import Fraction
from itertools import product


def exact(row):
    return tuple(Fraction(x).limit_denominator(1000) for x in row)


def scaled(row):
    total = sum(row)
    return tuple(x / total for x in row) if total else None


def without(row, x):
    return scaled([y if k != x else Fraction(0) for k, y in enumerate(row)])


def excess(p, q):
    return scaled([max(a - b, Fraction(0)) for a, b in zip(p, q)])


def family(p, q, tokens):
    """The chance of each token's own coin, and what is left of p after it."""
    found = []
    for x in tokens:
        if x is None or q is None or p is None:
            found.append((Fraction(0), p))
            continue
        chance = Fraction(p[x] > 0) if q[x] == 0 else min(Fraction(1), p[x] / q[x])
        p, q = excess(p, q), without(q, x)
        found.append((chance, p))
    return found


def draws(pmfs):
    """All tokens that can be drawn from several rows, with their probability; None from a row that is None."""
    sides = [[(None, Fraction(1))] if row is None else [(x, y) for x, y in enumerate(row) if y] for row in pmfs]
    for each in product(*sides):
        mass = Fraction(1)
        for _, weight in each:
            mass *= weight
        yield [x for x, _ in each], mass


def emitted(levels, window, rows, declared, first):
    """The law of the sequence, two candidates at each of the first ``levels`` columns of ``window`` drafts.

    The second is drawn as published, or from the ``declared`` row without the first.
    """
    length, size = 1 + max(map(len, rows)), len(rows[""])
    uniform = (Fraction(1, size),) * size
    leaves = [(0,) * window, *list(product((0, 1), repeat=levels))[1:]]

    def row(tokens):
        return exact(rows["".join(map(str, tokens))])

    def call(prefix, columns):
        # columns: (draft, what its sibling is drawn from, declared row)
        left = min(length - len(prefix), window)
        wide = min(levels, left)
        for others, mass in draws([columns[j][1] for j in range(wide)]):
            choices = [(columns[j][0], *others[j : j + 1]) for j in range(left)]
            nodes = {leaf[:j] for leaf in leaves for j in range(1, min(len(leaf), left) + 1)}
            at = {node: [choices[j][k] for j, k in enumerate(node)] for node in nodes | {()}}
            seen = {
                node: family(row((*prefix, *at[node])), columns[len(node)][2], choices[len(node)])
                for node in at
                if len(node) < left and None not in at[node] and any(other[:-1] == node for other in nodes)
            }
            chance = {node: seen[node[:-1]][node[-1]][0] if node[:-1] in seen else Fraction(0) for node in nodes}
            order = sorted(nodes)
            for sides in product((True, False), repeat=len(order)):
                coins = dict(zip(order, sides))
                weight = mass
                for node in order:
                    weight *= chance[node] if coins[node] else 1 - chance[node]
                if weight:
                    yield from ended(prefix, columns, choices, seen, coins, weight, left)

    def ended(prefix, columns, choices, seen, coins, weight, left):
        def accepted(leaf):
            most = min(len(leaf), left)
            return next((j for j in range(most) if not coins[leaf[: j + 1]]), most)

        leaf = max(leaves, key=accepted)
        count = accepted(leaf)
        path = [choices[j][leaf[j]] for j in range(count)]
        drawn, told = [], []
        for column in range(count, count + window + 1):
            if len(prefix) + column >= length:
                break
            node = leaf[: column + 1] if column < levels else (0,) * (column + 1)
            if column >= window:  # padding
                drawn.append(uniform)
                told.append((False, uniform, uniform))
            elif column == levels and any(leaf):
                p = row((*prefix, *(choices[j][leaf[j]] for j in range(levels))))
                drawn.append(p)
                told.append((False, p, p))
            else:
                p = row((*prefix, *(choices[j][node[j]] for j in range(column))))
                stays = coins[node]
                residual = seen[node[:-1]][0 if stays else -1][1]
                residual = residual or tuple(Fraction(x == 0) for x in range(size))
                drawn.append(
                    tuple(Fraction(x == choices[column][node[-1]]) for x in range(size)) if stays else residual
                )
                told.append((stays, residual, p))
        for tokens, mass in draws(drawn):
            following = [
                (x, without(p, x) if declared else spare if stays else without(spare, x), p)
                for x, (stays, spare, p) in zip(tokens[1:], told[1:])
            ]
            yield (*prefix, *path, *tokens[:1]), tuple(following), weight * mass

    law, states = {}, {}
    for tokens, mass in draws([uniform] * min(window, length)):
        beside = [without(uniform, x) if first == "shared" else uniform for x in tokens]
        states[(), tuple((x, row, uniform) for x, row in zip(tokens, beside))] = mass
    while states:
        further = {}
        for (prefix, columns), mass in states.items():
            for tokens, following, weight in call(prefix, columns):
                if len(tokens) == length:
                    law[tokens] = law.get(tokens, 0) + mass * weight
                else:
                    further[tokens, following] = further.get((tokens, following), 0) + mass * weight
        states = further
    return law


def recompute(examples):
    found = []
    for entry in examples:
        k, depth, rows = entry["candidates"], entry["depth"], entry["rows"]
        assert k == 2
        window = depth - 1 + entry["nodes"] - (k**depth - 1)
        law = emitted(depth - 1, window, rows, "siblings" in entry["mended"], entry["first"])
        target = {}
        for tokens in product(range(len(rows[""])), repeat=1 + max(map(len, rows))):
            mass = Fraction(1)
            for j, x in enumerate(tokens):
                mass *= exact(rows["".join(map(str, tokens[:j]))])[x]
            target[tokens] = mass
        apart = sum(abs(law.get(tokens, 0) - mass) for tokens, mass in target.items()) / 2
        assert sum(law.values()) == 1
        assert apart > 0
        named = [{" ".join(map(str, t)): m for t, m in sorted(each.items()) if m} for each in (law, target)]
        found.append({"law": named[0], "target": named[1], "tv": apart})
    return found

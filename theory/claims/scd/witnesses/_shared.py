"""A window over a chain of three tokens, followed draft by draft."""

import itertools
from fractions import Fraction

HALF, LENGTH = Fraction(1, 2), 3


def run(stay, renewal):
    """The law of three tokens and the mean number of calls, with uniform new drafts that declare point masses."""
    stay = Fraction(stay).limit_denominator(1000)
    one = {x: tuple(Fraction(x == y) for y in (0, 1)) for x in (0, 1)}

    def row(prefix):
        return tuple(stay if y == prefix[-1] else 1 - stay for y in (0, 1)) if prefix else (HALF, HALF)

    def judged(p, q, x):
        # (mass, token, whether it was accepted)
        chance = min(Fraction(1), p[x] / q[x])
        yield chance, x, True
        excess = [max(a - b, Fraction(0)) for a, b in zip(p, q)]
        for y in (0, 1):
            if chance < 1 and excess[y]:
                yield (1 - chance) * excess[y] / sum(excess), y, False

    def renewed(prefix, drafts, mass, done):
        # drafts behind the rejection: (token, row) of each; `prefix` holds the old tokens, which their rows depend on
        if not drafts:
            yield mass, done
            return
        (x, q), p = drafts[0], row(prefix)
        if renewal == "fresh":
            options = [(p[y], (y, p)) for y in (0, 1) if p[y]]
        else:
            old = q if renewal == "old row" else p
            options = [(m, (y, old if same else p)) for m, y, same in judged(p, q, x)]
        for m, draft in options:
            yield from renewed((*prefix, x), drafts[1:], mass * m, (*done, draft))

    def call(prefix, drafts):
        # (mass, committed, drafts) after one call
        waiting = [(Fraction(1), 0)]
        while waiting:
            mass, k = waiting.pop()
            before = (*prefix, *(x for x, _ in drafts[:k]))
            if k == len(drafts):
                yield mass, before, ()
                continue
            x, q = drafts[k]
            for m, y, same in judged(row(before), q, x):
                if same:
                    waiting.append((mass * m, k + 1))
                else:
                    for weight, rest in renewed((*before, x), drafts[k + 1 :], mass * m, ()):
                        yield weight, (*before, y), rest

    law, calls = {}, Fraction(0)
    states = {}
    for number in range(2**LENGTH):
        tokens = [number >> k & 1 for k in range(LENGTH)]
        states[(), tuple((x, one[x]) for x in tokens)] = Fraction(1, 2**LENGTH)
    while states:
        further = {}
        for (prefix, drafts), mass in states.items():
            calls += mass
            for m, committed, rest in call(prefix, drafts):
                if len(committed) == LENGTH:
                    key = " ".join(map(str, committed))
                    law[key] = law.get(key, Fraction(0)) + mass * m
                else:
                    further[committed, rest] = further.get((committed, rest), Fraction(0)) + mass * m
        states = further
    return law, calls


def target(stay):
    """The law of the chain itself."""
    stay = Fraction(stay).limit_denominator(1000)
    law = {}
    for number in range(2**LENGTH):
        tokens = [number >> k & 1 for k in range(LENGTH)]
        mass = HALF
        for a, b in itertools.pairwise(tokens):
            mass *= stay if a == b else 1 - stay
        law[" ".join(map(str, tokens))] = mass
    return law

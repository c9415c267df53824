"""A module of callables for ``simlab certify``, good and bad, as somebody might write them."""

MINE = """
import ctypes
import faulthandler
import os
import sys
import time
import numpy as np

calls = 0

def drawn(weights, rng):
    return int(np.searchsorted(weights.cumsum() / weights.sum(), rng.random(), side="right"))

def coins(p, q, drafts, rng, residual):
    for i, x in enumerate(drafts.tolist()):
        if rng.random() * q[i, x] >= p[i, x]:
            left = residual(p[i], q[i])
            return [*drafts[:i].tolist(), drawn(left if left.any() else p[i], rng)]
    return [*drafts.tolist(), drawn(p[-1], rng)]

def good(p, q, drafts, rng):
    rng.integers(2)  # which keeps its laws from being enumerated, and saves the time
    return coins(p, q, drafts, rng, lambda p, q: np.maximum(p - q, 0))

def wrong(p, q, drafts, rng):
    return coins(p, q, drafts, rng, lambda p, q: p)

def wrong_measured(p, q, drafts, rng):
    rng.integers(2)
    return wrong(p, q, drafts, rng)

def rounding(p, q, drafts, rng):
    for i, x in enumerate(drafts.tolist()):
        if rng.random() * q[i, x] >= p[i, x]:
            left = np.maximum(p[i] - q[i], 0)
            assert left.any()  # which fails where q is above p by a rounding error
            return [*drafts[:i].tolist(), drawn(left, rng)]
    return [*drafts.tolist(), drawn(p[-1], rng)]

class Engine:
    def __call__(self, p, q, drafts, rng):
        return good(p, q, drafts, rng)
    def verify(self, p, q, drafts, rng):
        return wrong(p, q, drafts, rng)

engine = Engine()
number = 3

def raises(p, q, drafts, rng):
    raise RuntimeError("<script>alert(1)</script> & [red]more[/red]")

def leaves(p, q, drafts, rng):
    sys.exit(3)

def hangs(p, q, drafts, rng):
    global calls
    calls += 1
    while calls > 20:  # the first call may take longer
        time.sleep(0.01)
    return good(p, q, drafts, rng)

def crashes(p, q, drafts, rng):
    faulthandler.disable()
    ctypes.string_at(0)

def too_many(p, q, drafts, rng):
    return [0] * (len(p) + 1)

def too_few_arguments(p, q):
    return [0]

def mutates(p, q, drafts, rng):
    tokens = good(p, q, drafts, rng)
    p[:] = 0
    q /= 2
    return tokens

def shares_the_global_generator(p, q, drafts, rng):
    np.random.random()
    return good(p, q, drafts, rng)

def chatters(p, q, drafts, rng):
    print("x" * 10_000)
    print("y" * 10_000, file=sys.stderr)
    os.write(1, b"z" * 10_000)
    return good(p, q, drafts, rng)

def slow(p, q, drafts, rng):
    time.sleep(0.05)
    return good(p, q, drafts, rng)
"""

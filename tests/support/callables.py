"""Modules as somebody might write them, good and bad: callables for ``simlab certify``, rules for ``simlab prove``."""

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

def coins(p, q, drafts, rng, residual, rejects=np.greater_equal):
    for i, x in enumerate(drafts.tolist()):
        if rejects(rng.random() * q[i, x], p[i, x]):
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

def at_zero(p, q, drafts, rng):  # a coin of 0 accepts what p excludes
    return coins(p, q, drafts, rng, lambda p, q: np.maximum(p - q, 0), np.greater)

def late(p, q, drafts, rng):
    assert rng.random() < 1 - 1e-9
    return coins(p, q, drafts, rng, lambda p, q: np.maximum(p - q, 0))

def up_to_sixteen(p, q, drafts, rng):
    if len(drafts) > 16:
        raise NotImplementedError("more than 16 drafts")
    return good(p, q, drafts, rng)

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

def mutates(p, q, drafts, rng):
    tokens = good(p, q, drafts, rng)
    p[:] = 0
    q /= 2
    return tokens

def chatters(p, q, drafts, rng):
    print("x" * 10_000)
    print("y" * 10_000, file=sys.stderr)
    os.write(1, b"z" * 10_000)
    return good(p, q, drafts, rng)

def slow(p, q, drafts, rng):
    time.sleep(0.05)
    return good(p, q, drafts, rng)
"""

PLAIN = """
import numpy as np

def accept(p, q, x):
    return min(1, p[x] / q[x])

def residual(p, q, x):
    left = np.maximum(p - q, 0)
    return left / left.sum() if left.sum() > 0 else p
"""
RULES = f"""{PLAIN}
import itertools
import random
from fractions import Fraction
from types import SimpleNamespace
from simlab.decoders import Sjd
from simlab.rules import Amplify, Speculative

class Other:
    residual = staticmethod(residual)

    def accept(self, p, q, x):
        return accept(p, q, x)

class Mine(Other):
    def residual(self, p, q, x):
        return p

class Floats(Other):
    def accept(self, p, q, x):
        return min(1, 1.2 * p[x] / q[x])

class Asks(Other):
    def accept(self, p, q, x):
        return float(p[x]) > 0.5

class Loops(Other):
    def accept(self, p, q, x):
        for _ in itertools.count():
            pass

class Raises(Other):
    def accept(self, p, q, x):
        raise RuntimeError("not today")

class Fickle(Other):
    def accept(self, p, q, x):
        return accept(p, q, x) if random.random() < 0.5 else p[x] * q[0]

class Scaled(Other):
    def __init__(self, k=1):
        self.k = k

    def accept(self, p, q, x):
        return min(1, self.k * p[x] / q[x])

class Changes(Other):
    def residual(self, p, q, x):
        left = residual(p, q, x)
        p[:] = 0
        return left

class Leaves(Other):
    def accept(self, p, q, x):
        import os
        os._exit(0)

class Subclass(Speculative):
    pass

def of_size(size):
    return Amplify(Fraction(3, 2))

class Fails(Speculative):
    def step_rows(self, p, q):
        raise IndexError("no such row")

wide = Sjd(window=2)
number = 3
only = SimpleNamespace(accept=accept)

def needs(k, labels):
    return Scaled()

def wrong():
    return 3

def broken():
    raise KeyError("missing")
"""

"""Four tokens: 0, a free one, one that the first two decide, a free one. A window of three drafts, the first ones
uniform.

Calls are counted by hand-written recursion over what the window holds, for both methods; no general decoder is needed.
"""

from fractions import Fraction
from itertools import product

HALF = Fraction(1, 2)


def calls(third, continued):
    """Mean calls for four tokens where the third is ``third(first, second)``."""
    total = Fraction(0)
    for a, b, c in product((0, 1), repeat=3):  # the first window
        if a == 0:  # the target begins with 0; b is uniform as the target says and accepted; c is right or replaced
            right = c == third(0, b)
            total += HALF**3 * (1 if right else 2)  # with a bonus all four tokens are there, else the last is missing
        else:  # 0 takes its place; the third draft becomes what the old first and second decide
            old = third(1, b)
            for x in [b] if continued else (0, 1):  # the second is retained, or drawn anew
                share = HALF**3 * (1 if continued else HALF)
                # second call: x is accepted; if the third is right the fourth draft, uniform, is accepted too
                total += share * (2 if old == third(0, x) else 3)
    return total


def recompute(examples):
    found = {
        name: {"sjd": calls(third, False), "continued": calls(third, True)}
        for name, third in (("copy", lambda a, b: b), ("compare", lambda a, b: a ^ b))
    }
    assert found["copy"]["continued"] < found["copy"]["sjd"]
    assert found["compare"]["continued"] > found["compare"]["sjd"]
    return [found]

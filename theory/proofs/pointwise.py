"""Pointwise statements over real numbers >= 0: what sums over tokens, or integrals of densities, are made of.

Each is about one token, or one point of a density: no V is in it. A *sum lemma* then says what follows for all tokens:
an equation or an inequality that is true of every term is true of their sum, and of their integral.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from simlab.rules.base import acceptance_ratio
from theory.proofs.base import Comparison, Numbers, Proof, Stated, eq, for_all_masses, ge, le, lt

SUM = "a sum over tokens of terms that are equal, or ordered, is equal or ordered; so is an integral over densities"
GROUPS = "induction over the tokens of a group: each is added to both sides by the inequality that is proven"
STEPS = "induction over the drafts of a block, each of which adds one such step; then a sum over prefixes"


def accepted(p: Any, q: Any, ratio: Any = None) -> Any:
    """How often the code accepts a draft that has masses, or densities, p and q; ``ratio`` is p/q if it is not said."""
    one = np.array([p if ratio is None else ratio], dtype=object), np.array([q], dtype=object)
    return acceptance_ratio(one[0], *one, one[1])[0]


def kept(n: Numbers, factor: int = 1) -> Stated:
    """q a = min(p, q), and what is accepted and the residual make p."""
    p, q = n["p"] * factor, n["q"]
    mass = q * accepted(p, q)
    return [(mass, eq, min(n["p"], q)), (mass + max(0, n["p"] - q), eq, n["p"])]


def below_bound(n: Numbers, above: bool = True) -> Stated:
    """Where p <= c q a draft is accepted with p/(c q), which is no more than 1, and then has p/c."""
    p, q, c = n["p"], n["q"], n["c"]
    if not c > 0 or (above and p > c * q):
        return []
    if q == 0:
        return [(p, eq, 0)]
    return [(p / (c * q), le, 1), (q * (p / (c * q)), eq, p / c)]


def rejected(n: Numbers, sign: int = 1) -> Stated:
    """What is rejected and the residual are as much as the excess of q, and of p."""
    p, q = n["p"], n["q"]
    return [
        (q - q * accepted(p, q), eq, max(0, (q - p) * sign)),
        (p - min(p, q), eq, max(0, p - q)),
        (min(p, q) * 2, eq, p + q - abs(p - q)),
    ]


def proposed(n: Numbers, divisor: str = "p") -> Stated:
    """The residual drawn by proposals from p: each is kept with [1 - q/p]+, which makes [p - q]+."""
    p, q = n["p"], n["q"]
    if not p > 0 or not n[divisor] > 0:
        return []
    return [(p * max(0, (p - q) / n[divisor]), eq, max(0, p - q))]


def proposed_at(n: Numbers, right: bool = True) -> Stated:
    """The same with the factor s of CSpD's ratio: what is kept is [s p - q]+ / s."""
    p, q, s = n["p"], n["q"], n["s"]
    if not p > 0 or not s > 0:
        return []
    threshold = max(0, s * p - q) / (s * p)
    return [(p * threshold, eq, max(0, s * p - q) / (s if right else 1))]


def scaled(n: Numbers, right: bool = True) -> Stated:
    """With the ratio s p/q what is accepted and the residual make s p."""
    p, q, s = n["p"], n["q"], n["s"]
    return [(q * accepted(s * p, q) + max(0, s * p - q), eq, s * p if right else p)]


def left_over(n: Numbers, power: int = 1) -> Stated:
    """s > 1: the residual of [p - q/s]+ is at least p - q/s, which integrates to 1 - 1/s."""
    p, q, s = n["p"], n["q"], n["s"]
    return [(max(0, p - q / s), ge, p - q / s**power)] if s > 1 else []


def merged(n: Numbers, worse: bool = True) -> Stated:
    """The smaller of two sums is at least the sum of the smaller ones."""
    both, apart = min(n["a"] + n["b"], n["c"] + n["d"]), min(n["a"], n["c"]) + min(n["b"], n["d"])
    return [(both, ge, apart)] if worse else [(both, le, apart)]


def any_rule(n: Numbers, price: int = 1) -> Stated:
    """Whatever a rule accepts is at most q and r, the law it emits: min(q, r) <= min(q, p) + [r - p]+."""
    p, q, r = n["p"], n["q"], n["r"]
    return [(min(q, r) * price, le, min(q, p) * price + max(0, r - p))]


def best_block(n: Numbers, room: int = 1) -> Stated:
    """Any rule's mass m <= q, m <= M P with M <= B stays below that of block verification, min(q, B P)."""
    m, q, before, best, p = n["m"], n["q"], n["M"], n["B"], n["P"]
    if not (m <= q and m <= before * p * room and before <= best):
        return []
    return [(m, le, min(q, best * p))]


def best_biased(n: Numbers, price: int = 1) -> Stated:
    """The same for a rule with a bias d: what it has more, it pays for."""
    m, q, before, best, p, d = (n[name] for name in ("m", "q", "M", "B", "P", "d"))
    if not (m <= q and m <= before * p + d):
        return []
    own = min(q, best * p)
    return [(max(0, m - own), le, max(0, before - best) * p + d * price)]


def block_tokens(n: Numbers, right: bool = True) -> Stated:
    """w <= 1: the weight min(1, w r) that block verification goes on with is at least w min(1, r)."""
    w, r = n["w"], n["r"]
    if not w <= 1:
        return []
    one, other = min(w * r, 1), w * min(r, 1)
    return [(one, ge, other)] if right else [(other, ge, one)]


def unbiased(n: Numbers, right: bool = True) -> Stated:
    """q (p/q) = p where q > 0."""
    p, q = n["p"], n["q"]
    return [(q * (p / q), eq, p if right else q)] if q > 0 else []


def row_costs(n: Numbers, rises: bool = True) -> Stated:
    """0 < t <= T <= r t and 1 <= C: C/r <= C t/T <= C."""
    t, top, r, c = n["t"], n["T"], n["r"], n["C"]
    if not (t > 0 and (t <= top or not rises) and top > 0 and top <= r * t and c >= 1):
        return []
    return [(c * t, le, c * top), (c * t * r, ge, c * top)]


def cauchy(n: Numbers, doubled: int = 2) -> Stated:
    """2 a b t <= t^2 a^2 + b^2, and equal just where b = t a."""
    a, b, t = n["a"] * n["t"], n["b"], n["t"]
    if not t > 0:
        return []
    one, other = a * b * doubled, a * a + b * b
    return [(one, le, other), ((one >= other), eq, a == b)]


def ratios(n: Numbers, right: bool = True) -> Stated:
    """In the mean over q the ratio of group masses gives P, amplify's k p, addition's p + e, LANTERN's p + m."""
    p, q, k, e, whole, shared = (n[name] for name in "pqkePQ")
    if not (q > 0 and shared > 0):
        return []
    return [
        (shared * (whole / shared), eq, whole),
        (q * (p * k / q), eq, p * k),
        (q * ((p + e) / q), eq, p + e if right else p),
    ]


def surely(n: Numbers, right: bool = True) -> Stated:
    """A draft with q <= m is accepted, m being the mass that has joined p."""
    p, q, m = n["p"], n["q"], n["m"]
    return [(accepted(p + m if right else p, q), eq, 1)] if q <= m else []


def within(n: Numbers, right: bool = True) -> Stated:
    """|p - q| <= e: [p - q]+ <= e, and 0 where p <= q; u + e/2 and u - e/2, two masses for e <= 2 u, are e apart."""
    p, q, e, u = n["p"], n["q"], n["e"], n["u"]
    if not abs(p - q) <= e:
        return []
    more = max(0, p - q)
    found = [(more, le, e if right else e / 2), (more * max(0, q - p), eq, 0)]
    high, low = u + e / 2, u - e / 2
    return [*found, (low, ge, 0), (high + low, eq, u * 2), (high - low, eq, e)] if e <= u * 2 else found


def joins(n: Numbers, right: bool = True) -> Stated:
    """A neighbour that joins below d joins below D >= d, and more mass P is accepted no less often."""
    distance, d, larger, y, mass, more, q = (n[name] for name in ("s", "d", "D", "y", "P", "m", "q"))
    found = [(accepted(mass, q), le, accepted(mass + more, q))]
    if d <= larger:
        one, other = (y if distance < each else y * 0 for each in (d, larger))
        found.append((one, le, other) if right else (other, le, one))
    return found


def impossible(n: Numbers, right: bool = True) -> Stated:
    """p = 0: a draft comes out with min(q, P), P being what has joined, and no residual has it."""
    q, joined, other = n["q"], n["P"], n["r"]
    emitted = q * accepted(joined, q)
    after = max(0, joined - q) * (1 - accepted(joined, q))  # of a draft that is this token
    return [(emitted, eq, min(q, joined) if right else q), (after, eq, 0), (max(0, 0 - other), eq, 0)]


def raised(n: Numbers, right: bool = True) -> Stated:
    """q > p: a draft comes out with min(q, h), and no residual has it: p, or less of it, is below q."""
    p, q, h, share = n["p"], n["q"], n["h"], n["s"]
    if not (q > p and share <= 1):
        return []
    rejected_ = 1 - accepted(h, q)
    return [
        (q * (1 - rejected_), eq, min(q, h) if right else q),
        (max(0, h - q) * rejected_, eq, 0),
        (max(0, p * share - q), eq, 0),
    ]


def product_kept(n: Numbers, least: bool = True) -> Stated:
    """min(a b, c d) >= min(a, c) min(b, d)."""
    both, apart = min(n["a"] * n["b"], n["c"] * n["d"]), min(n["a"], n["c"]) * min(n["b"], n["d"])
    return [(both, ge, apart)] if least else [(both, le, apart)]


def matched_less(n: Numbers, right: bool = True) -> Stated:
    """p (1 - (1 - q) z) <= min(p, q) + [p - q]+ (1 - z) for p, q, z <= 1: a candidate before those of (1 - q)^k = z."""
    p, q, z = n["p"], n["q"], n["z"]
    if not (p <= 1 and q <= 1 and z <= 1):
        return []
    one, other = p * (1 - (1 - q) * z), min(p, q) + max(0, p - q) * (1 - z)
    return [(one, le, other)] if right else [(other, le, one)]


def gained(n: Numbers, right: bool = True) -> Stated:
    """min(q, p + m) - min(q, p) <= min(q, m)."""
    p, q, m = n["p"], n["q"], n["m"]
    return [(min(q, p + m) - min(q, p), le, min(q, m) if right else min(q, m) / 2)]


def gumbel(n: Numbers, upper: bool = True) -> Stated:
    """The terms of sum_y max(p(y)/p(x), q(y)/q(x)) lie between what makes the two bounds."""
    a, b, p, q = n["a"], n["b"], n["p"], n["q"]
    if not (p > 0 and q > 0):
        return []
    term, least = max(a / p, b / q), min(p, q)
    found = [(term * p, ge, a), (term * q, ge, b)]
    return [*found, (term * least, le, max(a, b) if upper else min(a, b))]


def longer_block(n: Numbers, right: bool = True) -> Stated:
    """T (1 - a) = 1 - x gives (1 + a T)(1 - a) = 1 - a x: a draft more, x being a^(drafts + 1)."""
    a, tokens, x = n["a"], n["T"], n["x"]
    if not (a < 1 and tokens * (1 - a) == 1 - x):
        return []
    return [((a * tokens + 1) * (1 - a), eq, 1 - (a * x if right else x))]


def speed_of_drafts(n: Numbers, right: bool = True) -> Stated:
    """Tokens T of a step that costs g c + 1 calls are T/(g c + 1) times as many as a call makes."""
    tokens, g, c = n["T"], n["g"], n["c"]
    cost = g * c + 1
    return [((tokens / cost) * cost, eq, tokens), (tokens / cost, le, tokens if right else tokens / 2)]


def uniform_draft(n: Numbers, right: bool = True) -> Stated:
    """A uniform draft, 1/V, scored as a point mass is accepted with p; (1 - x) V/(V - 1) < V/(V - 1) for x > 0."""
    p, size, x = n["p"], n["V"], n["x"]
    if not (p <= 1 and size > 1):
        return []
    share = 1 / size
    found: list[Comparison] = [(share * accepted(p, size / size), eq, p / size)]
    if x > 0 and x <= 1:
        tokens = (1 - x) / (1 - share)  # of a block of drafts that are accepted with 1/V each
        found += [(tokens, lt, size / (size - 1)) if right else (tokens, lt, 1 - x)]
    return found


def verified_share(n: Numbers, right: bool = True) -> Stated:
    """K of V verified drafts are accepted, of B other positions R would be, g B <= K: the bounds of (K + R)/(V + B)."""
    accepted_, verified, others, rest, g = (n[name] for name in "KVBRg")
    if not (verified > 0 and accepted_ <= verified and rest <= others and g >= 1 and g * others <= accepted_):
        return []
    rate, mean = accepted_ / verified, (accepted_ + rest) / (verified + others)
    step = rate / g
    return [(rate / (1 + step), le, mean), (mean, le, (rate + step if right else rate) / (1 + step))]


def break_even(n: Numbers, drafting: bool = True) -> Stated:
    """C (a + s B + b B) over what a step costs exceeds 1 just where B (b (r - C) + f - s (C - 1)) < (C - 1) a - e."""
    a, b, s, e, f, tokens, r, batch = (n[name] for name in ("a", "b", "s", "e", "f", "C", "r", "B"))
    step = a + s * batch + b * batch * r + (e + f * batch if drafting else 0)
    if not (step > 0 and tokens >= 1 and r >= 1):
        return []
    speedup = tokens * (a + s * batch + b * batch) / step
    lost = batch * (b * (r - tokens) + f - s * (tokens - 1))
    return [(speedup > 1, eq, lost < (tokens - 1) * a - e)]


def mean_of_powers(n: Numbers, right: bool = True) -> Stated:
    """Of g powers of a <= 1, which sum to G, the next, x, is at most the mean; and so it is one later."""
    g, whole, x, a = n["g"], n["G"], n["x"], n["a"]
    if not (a <= 1 and x * g <= whole):
        return []
    return [(x * a * (g + 1), le, whole + x if right else whole)]


def cost_of_sequences(n: Numbers, rises: bool = True) -> Stated:
    """(b (g + 1) + g f)/G, what a token costs for a sequence of the batch, does not fall with g."""
    g, whole, x, b, f = (n[name] for name in "gGxbf")
    if not (whole > 0 and x * (g + 1) <= whole):
        return []
    before, after = (b * (g + 1) + f * g) / whole, (b * (g + 2) + f * (g + 1)) / (whole + x)
    return [(before, le, after)] if rises else [(after, le, before)]


def stays_longer(n: Numbers, rises: bool = True) -> Stated:
    """u + B v <= U + B W stays so for larger batches where v <= W: a longer draft does not become the better one."""
    u, v, larger, w, batch, more = (n[name] for name in ("u", "v", "U", "W", "B", "m"))
    if not ((v <= w or not rises) and u + batch * v <= larger + batch * w):
        return []
    return [(u + (batch + more) * v, le, larger + (batch + more) * w)]


def longer_prefill(n: Numbers, right: bool = True) -> Stated:
    """2 S >= L (L + 1) d and d' <= d: the gain S/(L (L + 1)) does not rise, and S + (L + 1) d' is such an S again."""
    count, d, less = n["L"], n["d"] - n["c"], n["e"]
    whole, after = n["S"] - n["R"], d - less if right else d + less
    if not (count >= 1 and 2 * whole >= count * (count + 1) * d):
        return []
    more = whole + (count + 1) * after
    return [(more * count, le, whole * (count + 2)), (2 * more, ge, (count + 1) * (count + 2) * after)]


def least_left_out(n: Numbers, right: bool = True) -> Stated:
    """A rate b below the mean S/n of the others: leaving it out raises the mean."""
    whole, count, b = n["S"], n["n"], n["b"]
    if not (count >= 1 and (b * count < whole or not right)):
        return []
    return [((whole + b) / (count + 1), lt, whole / count)]


def tangents(n: Numbers, right: bool = True) -> Stated:
    """What makes both bounds for blocks of one rate r each, carried from n powers to n + 1.

    R and B are the sums of n powers of r and b, D is B's derivative: R >= B + D (r - b), B R <= B^2 + D (r - b) R.
    """
    r, b, one, other, slope = (n[name] for name in "rbRBD")
    apart, gap = r - b, one - other
    if not (r <= 1 and b <= 1 and one >= 1 and other >= 1):
        return []
    if not (gap * apart >= 0 and gap * apart <= apart * apart * one * other and (1 - b) * other <= 1):
        return []
    if not (gap >= slope * apart and other * gap <= slope * apart * one):
        return []
    next_one, next_other, next_slope = r * one + 1, b * other + 1, other + b * slope
    next_gap = next_one - next_other
    found = [
        (next_gap * apart, ge, 0),
        (next_gap * apart, le, apart * apart * next_one * next_other),
        ((1 - b) * next_other, le, 1),
        (next_gap, ge, next_slope * apart),
        (next_other * next_gap, le, next_slope * apart * next_one),
    ]
    return found if right else [(next_gap, le, next_slope * apart)]


def typical(n: Numbers, right: bool = True) -> Stated:
    """Where a token is accepted, or not, and p replaces what is rejected, 1 - Q of all: its mass, and how far off p."""
    p, q, kept_ = n["p"], n["q"], n["Q"]
    if not (kept_ > 0 and kept_ <= 1):
        return []
    found: list[Comparison] = []
    for inside in (0, 1):
        emitted = q * inside + p * (1 - kept_)
        scaled_ = q * inside / kept_ if right else q * inside
        found.append((abs(emitted - p), eq, kept_ * abs(p - scaled_)))
    return found


def _proof(
    name: str,
    claims: Iterable[str],
    statement: str,
    states: Any,
    names: str,
    lemma: str,
    **wrong: tuple[str, Mapping[str, Any]],
) -> Proof:
    variables = tuple(names.split())

    def question(settings: Mapping[str, Any]) -> Any:
        return partial(for_all_masses, partial(states, **settings), variables, statement)

    others = {told: question(settings) for told, settings in wrong.values()}
    return Proof(name, tuple(claims), statement, (question({}),), others, lemma)


DENSITIES = (
    "cspd.output-law.fixed-variances",
    "cspd.output-law.last-step",
    "cspd.output-law.marginal",
    "cspd.noiseless.target-end",
    "cspd.noiseless.last-noise",
    "cspd.path-rule",
    "cspd.samplers.marginal",
    "cspd.mixtures.densities",
    "cspd.mixtures.aligned-components",
)

POINTWISE = (
    _proof(
        "pointwise.kept",
        ("leviathan.acceptance", "scd.visit", *DENSITIES),
        "q min(1, p/q) = min(p, q), and min(p, q) + [p - q]+ = p",
        kept,
        "p q",
        SUM,
        doubled=("ratio doubled", {"factor": 2}),
    ),
    _proof(
        "pointwise.below-bound",
        ("pac.rejection-sampling",),
        "where p <= c q: p/(c q) is at most 1, and q p/(c q) = p/c; p = 0 where q = 0",
        below_bound,
        "p q c",
        "a sum over tokens: 1/c of drafts are accepted, and what is accepted is p in proportion",
        premise=("without p <= c q", {"above": False}),
    ),
    _proof(
        "pointwise.rejected",
        (
            "leviathan.acceptance",
            "pac.rejection-mass",
            "pac.retention",
            "cspd.termination.without-sigma",
            "cspd.corollary-1.one-step",
        ),
        "q - min(p, q) = [q - p]+, p - min(p, q) = [p - q]+, 2 min(p, q) = p + q - |p - q|",
        rejected,
        "p q",
        SUM,
        reversed=("excess the other way", {"sign": -1}),
    ),
    _proof(
        "pointwise.proposed",
        ("leviathan.residual-cost", "cspd.residual", "cspd.mixtures.densities", "cspd.corollary-1.one-step"),
        "p [1 - q/p]+ = [p - q]+ where p > 0",
        proposed,
        "p q",
        SUM,
        divided=("divided by q", {"divisor": "q"}),
    ),
    _proof(
        "pointwise.proposed-with-sigma",
        ("cspd.corollary-1.two-path",),
        "p [1 - q/(s p)]+ = [s p - q]+ / s where p, s > 0",
        proposed_at,
        "p q s",
        SUM,
        unscaled=("without 1/s", {"right": False}),
    ),
    _proof(
        "pointwise.with-sigma",
        ("cspd.corollary-1.given-states",),
        "q min(1, s p/q) + [s p - q]+ = s p",
        scaled,
        "p q s",
        SUM,
        unscaled=("p for s p", {"right": False}),
    ),
    _proof(
        "pointwise.large-sigma",
        ("cspd.termination.large-sigma",),
        "[p - q/s]+ >= p - q/s for s > 1",
        left_over,
        "p q s",
        SUM,
        squared=("s squared", {"power": 2}),
    ),
    _proof(
        "pointwise.grouped",
        (
            "gsd.theorem-1.partition",
            "gsd.dynamic.partition",
            "cspd.noiseless.merging",
            "cspd.output-law.marginal",
            "cspd.mixtures.aligned-components",
        ),
        "min(a + b, c + d) >= min(a, c) + min(b, d)",
        merged,
        "a b c d",
        GROUPS,
        other=("at most", {"worse": False}),
    ),
    _proof(
        "pointwise.frontier",
        ("leviathan.frontier",),
        "min(q, r) <= min(q, p) + [r - p]+ for whatever law r a rule emits",
        any_rule,
        "p q r",
        SUM,
        cheaper=("half the price", {"price": 2}),
    ),
    _proof(
        "pointwise.block-tokens",
        ("baselines.block-verification.tokens",),
        "min(1, w r) >= w min(1, r) for w <= 1",
        block_tokens,
        "w r",
        STEPS,
        other=("at most", {"right": False}),
    ),
    _proof(
        "pointwise.block-optimal",
        ("block.optimal",),
        "m <= q, m <= M P and M <= B give m <= min(q, B P)",
        best_block,
        "m q M B P",
        STEPS,
        double=("twice the room", {"room": 2}),
    ),
    _proof(
        "pointwise.biased-block",
        ("hsd.frontier",),
        "m <= q and m <= M P + d give [m - min(q, B P)]+ <= [M - B]+ P + d",
        best_biased,
        "m q M B P d",
        STEPS,
        free=("bias for nothing", {"price": 0}),
    ),
    _proof(
        "pointwise.unbiased",
        ("cspd.path-ratio.unbiased", "cspd.path-ratio.last-step"),
        "q (p/q) = p where q > 0",
        unbiased,
        "p q",
        SUM,
        draft=("q for p", {"right": False}),
    ),
    _proof(
        "pointwise.cost-of-rows",
        ("leviathan.cost-of-rows.bounds",),
        "0 < t <= T <= r t and C >= 1 give C/r <= C t/T <= C",
        row_costs,
        "t T r C",
        "r, the rows of a call, is any real number here, and so any whole one",
        falls=("a cost that falls", {"rises": False}),
    ),
    _proof(
        "pointwise.cauchy",
        ("pac.retention", "pac.entropy.candidates"),
        "2 a b t <= t^2 a^2 + b^2 for t > 0, and equal just where b = t a",
        cauchy,
        "a b t",
        f"{SUM}; t^2 the quotient of the sums of b^2 and a^2 gives (sum a b)^2 <= sum a^2 sum b^2, equal just "
        "where b = t "
        "a everywhere; exp(-H_2) is a sum of squares",
        thrice=("3 for 2", {"doubled": 3}),
    ),
    _proof(
        "pointwise.ratios",
        ("gsd.unbiased.ratio", "gsd.drawbacks"),
        "Q (P/Q) = P, q (k p/q) = k p, q ((p + e)/q) = p + e for q, Q > 0",
        ratios,
        "p q k e P Q",
        f"the draft masses of a group sum to Q, so its terms sum to Q P/Q; {SUM}",
        without=("nothing added", {"right": False}),
    ),
    _proof(
        "pointwise.surely",
        ("gsd.drawbacks",),
        "min(1, (p + m)/q) = 1 for q <= m",
        surely,
        "p q m",
        "it is about one token of any vocabulary",
        without=("without the neighbours", {"right": False}),
    ),
    _proof(
        "pointwise.within",
        ("gsd.accumulation.bounded",),
        "|p - q| <= e gives [p - q]+ <= e, and [p - q]+ [q - p]+ = 0; u + e/2 and u - e/2 are masses for e "
        "<= 2 u, and e apart",
        within,
        "p q e u",
        "TV is the sum of [p - q]+ and of [q - p]+, one of which has at most floor(V/2) tokens; the rows "
        "with u = 1/V have "
        "floor(V/2) pairs",
        half=("half of e", {"right": False}),
    ),
    _proof(
        "pointwise.joins",
        ("lantern.monotone", "lantern.output-bound.sum"),
        "who joins below d joins below D >= d, and min(1, P/q) <= min(1, (P + m)/q)",
        joins,
        "s d D y P m q",
        "a sum over the neighbours that join, to which a larger k or delta adds masses >= 0, whatever the "
        "bound compares "
        "with delta; then a mean over contexts and tokens",
        other=("the other way", {"right": False}),
    ),
    _proof(
        "pointwise.impossible",
        ("lantern.support",),
        "p = 0: q min(1, P/q) = min(q, P), and the residual of every draft is 0 there",
        impossible,
        "q P r",
        "it is about one token of any vocabulary; another draft's p_A is 0 there, as p is",
        whole=("q for min(q, P)", {"right": False}),
    ),
    _proof(
        "pointwise.raised",
        ("cactus.law",),
        "q > p: q min(1, h/q) = min(q, h), and [h - q]+ after a rejection and [s p - q]+ for s <= 1 are 0",
        raised,
        "p q h s",
        "it is about one token of any vocabulary; h is any number, and so the one with the root",
        whole=("q for min(q, h)", {"right": False}),
    ),
    _proof(
        "pointwise.products",
        ("gsd.compounding",),
        "min(a b, c d) >= min(a, c) min(b, d)",
        product_kept,
        "a b c d",
        "a sum over sequences, a token more at a time: 1 - TV is a sum of such minima",
        other=("at most", {"least": False}),
    ),
    _proof(
        "pointwise.matched-less",
        ("candidates.sample-and-match",),
        "p (1 - (1 - q) z) <= min(p, q) + [p - q]+ (1 - z) for p, q, z <= 1",
        matched_less,
        "p q z",
        "induction over candidates: z = (1 - q)^k, and the right side sums to what the first candidate and "
        "the residual's "
        "k accept at least; with z = 1, one candidate",
        other=("at least", {"right": False}),
    ),
    _proof(
        "pointwise.gained",
        ("lantern.output-bound.sum",),
        "min(q, p + m) - min(q, p) <= min(q, m)",
        gained,
        "p q m",
        f"{SUM}: what is accepted more, which is the TV by lantern.any-delta.frontier",
        half=("half of it", {"right": False}),
    ),
    _proof(
        "pointwise.gumbel",
        ("scd.gumbel-repeats",),
        "max(a/p, b/q) is at least a/p and b/q, and at most max(a, b)/min(p, q), for p, q > 0",
        gumbel,
        "a b p q",
        "sums over y: of a and of b they are 1, and of max(a, b) 1 + TV; then a sum over x, of min(p, q) 1 - TV",
        least=("min(a, b)", {"upper": False}),
    ),
    _proof(
        "pointwise.longer-block",
        ("leviathan.expected-tokens.iid", "sjd.refinement.certain", "sjd.refinement.sticky"),
        "T (1 - a) = 1 - x gives (1 + a T)(1 - a) = 1 - a x",
        longer_block,
        "a T x",
        "induction over the drafts of a block: one before them adds its token, and with a goes on; none make "
        "1 token, x = a",
        same=("x for a x", {"right": False}),
    ),
    _proof(
        "pointwise.speed-of-drafts",
        ("leviathan.expected-tokens.iid",),
        "T/(g c + 1) of g c + 1 calls is T",
        speed_of_drafts,
        "T g c",
        "plain decoding makes a token a call",
        half=("half of it", {"right": False}),
    ),
    _proof(
        "pointwise.uniform-draft",
        ("sjd.refinement.certain", "sjd.refinement.sticky"),
        "(1/V) min(1, p) = p/V, and (1 - x)/(1 - 1/V) < V/(V - 1) for x > 0",
        uniform_draft,
        "p V x",
        f"{SUM}: a draft is accepted with 1/V; then pointwise.longer-block with a = 1/V; at the end there are "
        "fewer drafts",
        less=("below 1 - x", {"right": False}),
    ),
    _proof(
        "pointwise.verified-share",
        ("cspd.draft-length.bounds",),
        "with a = K/V: a/(1 + a/g) <= (K + R)/(V + B) <= (a + a/g)/(1 + a/g) for K <= V, R <= B, g B <= K",
        verified_share,
        "K V B R g",
        "K, V, B and R are means of counts of positions: verified drafts, those accepted, the target's own "
        "tokens; a lossless "
        "sequence is the target's at every draft length, and g drafts were accepted before each token of its own",
        rate=("a for a + a/g", {"right": False}),
    ),
    _proof(
        "pointwise.break-even",
        ("leviathan.cost-of-rows.break-even",),
        "C (a + s B + b B) > a + s B + b B r + e + f B just where B (b (r - C) + f - s (C - 1)) < (C - 1) a - e",
        break_even,
        "a b s e f C r B",
        "r and B are any real numbers here, and so any whole ones",
        free=("drafts for nothing", {"drafting": False}),
    ),
    _proof(
        "pointwise.mean-of-powers",
        ("leviathan.cost-of-rows.draft-length",),
        "x g <= G gives a x (g + 1) <= G + x for a <= 1",
        mean_of_powers,
        "g G x a",
        "induction over g: G is the sum of g powers of a, and x the next",
        without=("without the next", {"right": False}),
    ),
    _proof(
        "pointwise.cost-of-sequences",
        ("leviathan.cost-of-rows.draft-length",),
        "(b (g + 1) + g f)/G <= (b (g + 2) + (g + 1) f)/(G + x) for x (g + 1) <= G",
        cost_of_sequences,
        "g G x b f",
        "induction over draft lengths",
        falls=("falls", {"rises": False}),
    ),
    _proof(
        "pointwise.stays-longer",
        ("leviathan.cost-of-rows.draft-length",),
        "u + B v <= U + B W and v <= W give u + (B + m) v <= U + (B + m) W",
        stays_longer,
        "u v U W B m",
        "U + B W is what a token costs by a longer draft: so none that was no better becomes better",
        any=("any cost of a sequence", {"rises": False}),
    ),
    _proof(
        "pointwise.longer-prefill",
        ("cspd.prefill.diminishing",),
        "2 S >= L (L + 1) d and d' <= d give L (S + (L + 1) d') <= (L + 2) S and 2 (S + (L + 1) d') >= (L + "
        "1) (L + 2) d'",
        longer_prefill,
        "L d c e S R",
        "induction over the positions from the end: d are the falls of the rates, S the sum of k d_k, S/(L "
        "(L + 1)) what the "
        "mean of L + 1 rates is above that of L",
        convex=("rates that are convex", {"right": False}),
    ),
    _proof(
        "pointwise.least-left-out",
        ("cspd.prefill.raises",),
        "b n < S gives (S + b)/(n + 1) < S/n",
        least_left_out,
        "S n b",
        "S is the sum of n rates, each of which is larger than b",
        any=("any rate", {"right": False}),
    ),
    _proof(
        "pointwise.tangents",
        ("leviathan.expected-tokens.block",),
        "R >= B + D (r - b) and B R <= B^2 + D (r - b) R, for R = 1 + ... + r^(n-1), B the same of b, D its derivative",
        tangents,
        "r b R B D",
        "induction over n, from R = B = 1 and D = 0; a mean over blocks with b the mean rate, of n = gamma + "
        "1 powers; and with "
        "b the rate of verified drafts, of n = gamma",
        below=("tangents from above", {"right": False}),
    ),
    _proof(
        "pointwise.typical",
        ("typical.law",),
        "|q [x in A] + (1 - Q) p - p| = Q |p - q [x in A]/Q|",
        typical,
        "p q Q",
        f"{SUM}; Q is q(A), and A any set of tokens",
        unscaled=("q not scaled", {"right": False}),
    ),
)

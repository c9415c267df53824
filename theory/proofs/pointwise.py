"""Pointwise statements over real numbers >= 0: what sums over tokens, or integrals of densities, are made of.

Each is about one token, or one point of a density: no V is in it. A *sum lemma* then says what follows for all tokens:
an equation or an inequality that is true of every term is true of their sum, and of their integral.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from simlab.rules.base import acceptance_ratio
from theory.proofs.base import Comparison, Numbers, Proof, Question, Stated, eq, for_all_masses, ge, le, lt

DENSITIES = (
    "cspd.output-law.last-step",
    "cspd.output-law.marginal",
    "cspd.noiseless.target-end",
    "cspd.noiseless.last-noise",
    "cspd.path-rule",
    "cspd.samplers.marginal",
    "cspd.mixtures",
    "cspd.mixtures.aligned-components",
)

SUM = "a sum over tokens of terms that are equal, or ordered, is equal or ordered; so is an integral over densities"
GROUPS = "induction over the tokens of a group: each is added to both sides by the inequality that is proven"
STEPS = "induction over the drafts of a block, each of which adds one such step; then a sum over prefixes"

POINTWISE: list[Proof] = []  # in the order of the functions below


def pointwise(
    name: str, claims: Iterable[str], statement: str, lemma: str, *, wrong: str, **settings: Any
) -> Callable[[Callable[..., Stated]], Callable[..., Stated]]:
    """List a proof that what a function of some numbers states is true, whatever they are.

    Parameters
    ----------
    name, claims, statement, lemma
        As of a :class:`~theory.proofs.base.Proof`.
    wrong
        What is wrong, in words, in the variant that has to be refuted.
    settings
        What makes it: the keywords of the function, whose other parameters are the numbers.
    """

    def listed(states: Callable[..., Stated]) -> Callable[..., Stated]:
        numbers = tuple(
            each.name for each in signature(states).parameters.values() if each.kind is not each.KEYWORD_ONLY
        )

        def question(**given: Any) -> Question:
            def stated(named: Numbers) -> Stated:
                return states(**named, **given)

            return partial(for_all_masses, stated, numbers, statement)

        POINTWISE.append(Proof(name, tuple(claims), statement, (question(),), {wrong: question(**settings)}, lemma))
        return states

    return listed


def accepted(p: Any, q: Any, ratio: Any = None) -> Any:
    """How often the code accepts a draft that has masses, or densities, p and q; ``ratio`` is p/q if it is not said."""
    one = np.array([p if ratio is None else ratio], dtype=object), np.array([q], dtype=object)
    return acceptance_ratio(one[0], *one, one[1])[0]


@pointwise(
    "pointwise.kept",
    ("leviathan.acceptance", "scd.visit", *DENSITIES),
    "q min(1, p/q) = min(p, q), and min(p, q) + [p - q]+ = p",
    SUM,
    wrong="ratio doubled",
    factor=2,
)
def kept(p: Any, q: Any, *, factor: int = 1) -> Stated:
    """q a = min(p, q), and what is accepted and the residual make p."""
    target = p * factor
    mass = q * accepted(target, q)
    return [(mass, eq, min(p, q)), (mass + max(0, target - q), eq, p)]


@pointwise(
    "pointwise.below-bound",
    ("pac.rejection-sampling",),
    "where p <= c q: p/(c q) is at most 1, and q p/(c q) = p/c; p = 0 where q = 0",
    "a sum over tokens: 1/c of drafts are accepted, and what is accepted is p in proportion",
    wrong="without p <= c q",
    above=False,
)
def below_bound(p: Any, q: Any, c: Any, *, above: bool = True) -> Stated:
    """Where p <= c q a draft is accepted with p/(c q), which is no more than 1, and then has p/c."""
    if not c > 0 or (above and p > c * q):
        return []
    if q == 0:
        return [(p, eq, 0)]
    return [(p / (c * q), le, 1), (q * (p / (c * q)), eq, p / c)]


@pointwise(
    "pointwise.rejected",
    (
        "leviathan.acceptance",
        "pac.rejection-mass",
        "pac.retention",
        "cspd.termination.without-sigma",
        "cspd.corollary-1",
    ),
    "q - min(p, q) = [q - p]+, p - min(p, q) = [p - q]+, 2 min(p, q) = p + q - |p - q|",
    SUM,
    wrong="excess the other way",
    sign=-1,
)
def rejected(p: Any, q: Any, *, sign: int = 1) -> Stated:
    """What is rejected and the residual are as much as the excess of q, and of p."""
    return [
        (q - q * accepted(p, q), eq, max(0, (q - p) * sign)),
        (p - min(p, q), eq, max(0, p - q)),
        (min(p, q) * 2, eq, p + q - abs(p - q)),
    ]


@pointwise(
    "pointwise.proposed",
    ("leviathan.residual-cost", "cspd.residual", "cspd.mixtures", "cspd.corollary-1"),
    "p [1 - q/p]+ = [p - q]+ where p > 0",
    SUM,
    wrong="divided by q",
    right=False,
)
def proposed(p: Any, q: Any, *, right: bool = True) -> Stated:
    """The residual drawn by proposals from p: each is kept with [1 - q/p]+, which makes [p - q]+."""
    divisor = p if right else q
    if not p > 0 or not divisor > 0:
        return []
    return [(p * max(0, (p - q) / divisor), eq, max(0, p - q))]


@pointwise(
    "pointwise.proposed-with-sigma",
    ("cspd.corollary-1",),
    "p [1 - q/(s p)]+ = [s p - q]+ / s where p, s > 0",
    SUM,
    wrong="without 1/s",
    right=False,
)
def proposed_at(p: Any, q: Any, s: Any, *, right: bool = True) -> Stated:
    """The same with the factor s of CSpD's ratio: what is kept is [s p - q]+ / s."""
    if not p > 0 or not s > 0:
        return []
    threshold = max(0, s * p - q) / (s * p)
    return [(p * threshold, eq, max(0, s * p - q) / (s if right else 1))]


@pointwise(
    "pointwise.with-sigma",
    ("cspd.corollary-1",),
    "q min(1, s p/q) + [s p - q]+ = s p",
    SUM,
    wrong="p for s p",
    right=False,
)
def scaled(p: Any, q: Any, s: Any, *, right: bool = True) -> Stated:
    """With the ratio s p/q what is accepted and the residual make s p."""
    return [(q * accepted(s * p, q) + max(0, s * p - q), eq, s * p if right else p)]


@pointwise(
    "pointwise.large-sigma",
    ("cspd.termination",),
    "[p - q/s]+ >= p - q/s for s > 1",
    SUM,
    wrong="s squared",
    power=2,
)
def left_over(p: Any, q: Any, s: Any, *, power: int = 1) -> Stated:
    """s > 1: the residual of [p - q/s]+ is at least p - q/s, which integrates to 1 - 1/s."""
    return [(max(0, p - q / s), ge, p - q / s**power)] if s > 1 else []


@pointwise(
    "pointwise.grouped",
    (
        "gsd.theorem-1",
        "gsd.dynamic.partition",
        "cspd.noiseless.merging",
        "cspd.output-law.marginal",
        "cspd.mixtures.aligned-components",
    ),
    "min(a + b, c + d) >= min(a, c) + min(b, d)",
    GROUPS,
    wrong="at most",
    worse=False,
)
def merged(a: Any, b: Any, c: Any, d: Any, *, worse: bool = True) -> Stated:
    """The smaller of two sums is at least the sum of the smaller ones."""
    both, apart = min(a + b, c + d), min(a, c) + min(b, d)
    return [(both, ge, apart)] if worse else [(both, le, apart)]


@pointwise(
    "pointwise.frontier",
    ("leviathan.frontier",),
    "min(q, r) <= min(q, p) + [r - p]+ for whatever law r a rule emits",
    SUM,
    wrong="half the price",
    price=2,
)
def any_rule(p: Any, q: Any, r: Any, *, price: int = 1) -> Stated:
    """Whatever a rule accepts is at most q and r, the law it emits: min(q, r) <= min(q, p) + [r - p]+."""
    return [(min(q, r) * price, le, min(q, p) * price + max(0, r - p))]


@pointwise(
    "pointwise.block-tokens",
    ("baselines.block-verification",),
    "min(1, w r) >= w min(1, r) for w <= 1",
    STEPS,
    wrong="at most",
    right=False,
)
def block_tokens(w: Any, r: Any, *, right: bool = True) -> Stated:
    """w <= 1: the weight min(1, w r) that block verification goes on with is at least w min(1, r)."""
    if not w <= 1:
        return []
    one, other = min(w * r, 1), w * min(r, 1)
    return [(one, ge, other)] if right else [(other, ge, one)]


@pointwise(
    "pointwise.block-optimal",
    ("block.optimal",),
    "m <= q, m <= M P and M <= B give m <= min(q, B P)",
    STEPS,
    wrong="twice the room",
    room=2,
)
def best_block(m: Any, q: Any, M: Any, B: Any, P: Any, *, room: int = 1) -> Stated:
    """Any rule's mass m <= q, m <= M P with M <= B stays below that of block verification, min(q, B P)."""
    if not (m <= q and m <= M * P * room and M <= B):
        return []
    return [(m, le, min(q, B * P))]


@pointwise(
    "pointwise.biased-block",
    ("hsd.frontier",),
    "m <= q and m <= M P + d give [m - min(q, B P)]+ <= [M - B]+ P + d",
    STEPS,
    wrong="bias for nothing",
    price=0,
)
def best_biased(m: Any, q: Any, M: Any, B: Any, P: Any, d: Any, *, price: int = 1) -> Stated:
    """The same for a rule with a bias d: what it has more, it pays for."""
    if not (m <= q and m <= M * P + d):
        return []
    own = min(q, B * P)
    return [(max(0, m - own), le, max(0, M - B) * P + d * price)]


@pointwise(
    "pointwise.unbiased",
    ("cspd.path-ratio.unbiased",),
    "q (p/q) = p where q > 0",
    SUM,
    wrong="q for p",
    right=False,
)
def unbiased(p: Any, q: Any, *, right: bool = True) -> Stated:
    """q (p/q) = p where q > 0."""
    return [(q * (p / q), eq, p if right else q)] if q > 0 else []


@pointwise(
    "pointwise.cost-of-rows",
    ("leviathan.cost-of-rows.bounds",),
    "0 < t <= T <= r t and C >= 1 give C/r <= C t/T <= C",
    "r, the rows of a call, is any real number here, and so any whole one",
    wrong="a cost that falls",
    rises=False,
)
def row_costs(t: Any, T: Any, r: Any, C: Any, *, rises: bool = True) -> Stated:
    """0 < t <= T <= r t and 1 <= C: C/r <= C t/T <= C."""
    if not (t > 0 and (t <= T or not rises) and T > 0 and r * t >= T and C >= 1):
        return []
    return [(C * t, le, C * T), (C * t * r, ge, C * T)]


@pointwise(
    "pointwise.cauchy",
    ("pac.retention", "pac.entropy.candidates"),
    "2 a b t <= t^2 a^2 + b^2 for t > 0, and equal just where b = t a",
    f"{SUM}; t^2 the quotient of the sums of b^2 and a^2 gives (sum a b)^2 <= sum a^2 sum b^2, equal just where "
    "b = t a everywhere; exp(-H_2) is a sum of squares",
    wrong="3 for 2",
    doubled=3,
)
def cauchy(a: Any, b: Any, t: Any, *, doubled: int = 2) -> Stated:
    """2 a b t <= t^2 a^2 + b^2, and equal just where b = t a."""
    if not t > 0:
        return []
    scaled_a = a * t
    one, other = scaled_a * b * doubled, scaled_a * scaled_a + b * b
    return [(one, le, other), ((one >= other), eq, scaled_a == b)]


@pointwise(
    "pointwise.ratios",
    ("gsd.unbiased", "gsd.drawbacks"),
    "Q (P/Q) = P, q (k p/q) = k p, q ((p + e)/q) = p + e for q, Q > 0",
    f"the draft masses of a group sum to Q, so its terms sum to Q P/Q; {SUM}",
    wrong="nothing added",
    right=False,
)
def ratios(p: Any, q: Any, k: Any, e: Any, P: Any, Q: Any, *, right: bool = True) -> Stated:
    """In the mean over q the ratio of group masses gives P, amplify's k p, addition's p + e, LANTERN's p + m."""
    if not (q > 0 and Q > 0):
        return []
    return [
        (Q * (P / Q), eq, P),
        (q * (p * k / q), eq, p * k),
        (q * ((p + e) / q), eq, p + e if right else p),
    ]


@pointwise(
    "pointwise.surely",
    ("gsd.drawbacks",),
    "min(1, (p + m)/q) = 1 for q <= m",
    "it is about one token of any vocabulary",
    wrong="without the neighbours",
    right=False,
)
def surely(p: Any, q: Any, m: Any, *, right: bool = True) -> Stated:
    """A draft with q <= m is accepted, m being the mass that has joined p."""
    return [(accepted(p + m if right else p, q), eq, 1)] if q <= m else []


@pointwise(
    "pointwise.within",
    ("gsd.accumulation",),
    "|p - q| <= e gives [p - q]+ <= e, and [p - q]+ [q - p]+ = 0; u + e/2 and u - e/2 are masses for e <= 2 u, "
    "and e apart",
    "TV is the sum of [p - q]+ and of [q - p]+, one of which has at most floor(V/2) tokens; the rows with u = 1/V "
    "have floor(V/2) pairs",
    wrong="half of e",
    right=False,
)
def within(p: Any, q: Any, e: Any, u: Any, *, right: bool = True) -> Stated:
    """|p - q| <= e: [p - q]+ <= e, and 0 where p <= q; u + e/2 and u - e/2, two masses for e <= 2 u, are e apart."""
    if not abs(p - q) <= e:
        return []
    more = max(0, p - q)
    found = [(more, le, e if right else e / 2), (more * max(0, q - p), eq, 0)]
    high, low = u + e / 2, u - e / 2
    return [*found, (low, ge, 0), (high + low, eq, u * 2), (high - low, eq, e)] if e <= u * 2 else found


@pointwise(
    "pointwise.joins",
    ("lantern.monotone", "lantern.output-bound"),
    "who joins below d joins below D >= d, and min(1, P/q) <= min(1, (P + m)/q)",
    "a sum over the neighbours that join, to which a larger k or delta adds masses >= 0, whatever the bound compares "
    "with delta; then a mean over contexts and tokens",
    wrong="the other way",
    right=False,
)
def joins(s: Any, d: Any, D: Any, y: Any, P: Any, m: Any, q: Any, *, right: bool = True) -> Stated:
    """A neighbour that joins below d joins below D >= d, and more mass P is accepted no less often."""
    found = [(accepted(P, q), le, accepted(P + m, q))]
    if d <= D:
        one, other = (y if s < each else y * 0 for each in (d, D))
        found.append((one, le, other) if right else (other, le, one))
    return found


@pointwise(
    "pointwise.impossible",
    ("lantern.support",),
    "p = 0: q min(1, P/q) = min(q, P), and the residual of every draft is 0 there",
    "it is about one token of any vocabulary; another draft's p_A is 0 there, as p is",
    wrong="q for min(q, P)",
    right=False,
)
def impossible(q: Any, P: Any, r: Any, *, right: bool = True) -> Stated:
    """p = 0: a draft comes out with min(q, P), P being what has joined, and no residual has it."""
    emitted = q * accepted(P, q)
    after = max(0, P - q) * (1 - accepted(P, q))  # of a draft that is this token
    return [(emitted, eq, min(q, P) if right else q), (after, eq, 0), (max(0, 0 - r), eq, 0)]


@pointwise(
    "pointwise.raised",
    ("cactus.law",),
    "q > p: q min(1, h/q) = min(q, h), and [h - q]+ after a rejection and [s p - q]+ for s <= 1 are 0",
    "it is about one token of any vocabulary; h is any number, and so the one with the root",
    wrong="q for min(q, h)",
    right=False,
)
def raised(p: Any, q: Any, h: Any, s: Any, *, right: bool = True) -> Stated:
    """q > p: a draft comes out with min(q, h), and no residual has it: p, or less of it, is below q."""
    if not (q > p and s <= 1):
        return []
    rejected_ = 1 - accepted(h, q)
    return [
        (q * (1 - rejected_), eq, min(q, h) if right else q),
        (max(0, h - q) * rejected_, eq, 0),
        (max(0, p * s - q), eq, 0),
    ]


@pointwise(
    "pointwise.products",
    ("gsd.compounding",),
    "min(a b, c d) >= min(a, c) min(b, d)",
    "a sum over sequences, a token more at a time: 1 - TV is a sum of such minima",
    wrong="at most",
    least=False,
)
def product_kept(a: Any, b: Any, c: Any, d: Any, *, least: bool = True) -> Stated:
    """min(a b, c d) >= min(a, c) min(b, d)."""
    both, apart = min(a * b, c * d), min(a, c) * min(b, d)
    return [(both, ge, apart)] if least else [(both, le, apart)]


@pointwise(
    "pointwise.matched-less",
    ("candidates.sample-and-match",),
    "p (1 - (1 - q) z) <= min(p, q) + [p - q]+ (1 - z) for p, q, z <= 1",
    "induction over candidates: z = (1 - q)^k, and the right side sums to what the first candidate and the residual's "
    "k accept at least; with z = 1, one candidate",
    wrong="at least",
    right=False,
)
def matched_less(p: Any, q: Any, z: Any, *, right: bool = True) -> Stated:
    """p (1 - (1 - q) z) <= min(p, q) + [p - q]+ (1 - z) for p, q, z <= 1: a candidate before those of (1 - q)^k = z."""
    if not (p <= 1 and q <= 1 and z <= 1):
        return []
    one, other = p * (1 - (1 - q) * z), min(p, q) + max(0, p - q) * (1 - z)
    return [(one, le, other)] if right else [(other, le, one)]


@pointwise(
    "pointwise.rejections",
    ("candidates.replacement.recursive", "traversal.top-down"),
    "[p - b q]+ <= [p - a q]+ <= [p - b q]+ + (b - a) q for a <= b, and [[p - a q]+ - c q]+ = [p - (a + c) q]+",
    "a sum over tokens: f(a), that of [p - a q]+, falls, and a + f(a) does not, as q sums to 1; induction over "
    "candidates, each of which adds its c: f(a) to a, and at least f(b) to b >= a, which stays above; then over the "
    "height of a tree",
    wrong="twice the fall",
    fall=2,
)
def rejections(p: Any, q: Any, a: Any, b: Any, c: Any, *, fall: int = 1) -> Stated:
    """What rejections of a sum a, or b >= a, have left of p; and that one more, of c, adds to the sum."""
    if not a <= b:
        return []
    near, far = max(0, p - a * q), max(0, p - b * q)
    return [
        (far, le, near),
        ((near - far) * fall, le, (b - a) * q),
        (max(0, near - c * q), eq, max(0, p - (a + c) * q)),
    ]


@pointwise(
    "pointwise.gained",
    ("lantern.output-bound",),
    "min(q, p + m) - min(q, p) <= min(q, m)",
    f"{SUM}: what is accepted more, which is the TV by lantern.frontier",
    wrong="half of it",
    right=False,
)
def gained(p: Any, q: Any, m: Any, *, right: bool = True) -> Stated:
    """min(q, p + m) - min(q, p) <= min(q, m)."""
    return [(min(q, p + m) - min(q, p), le, min(q, m) if right else min(q, m) / 2)]


@pointwise(
    "pointwise.gumbel",
    ("scd.gumbel-repeats",),
    "max(a/p, b/q) is at least a/p and b/q, and at most max(a, b)/min(p, q), for p, q > 0",
    "sums over y: of a and of b they are 1, and of max(a, b) 1 + TV; then a sum over x, of min(p, q) 1 - TV",
    wrong="min(a, b)",
    upper=False,
)
def gumbel(a: Any, b: Any, p: Any, q: Any, *, upper: bool = True) -> Stated:
    """The terms of sum_y max(p(y)/p(x), q(y)/q(x)) lie between what makes the two bounds."""
    if not (p > 0 and q > 0):
        return []
    term, least = max(a / p, b / q), min(p, q)
    found = [(term * p, ge, a), (term * q, ge, b)]
    return [*found, (term * least, le, max(a, b) if upper else min(a, b))]


@pointwise(
    "pointwise.longer-block",
    ("leviathan.expected-tokens", "sjd.refinement.certain", "sjd.refinement.sticky"),
    "T (1 - a) = 1 - x gives (1 + a T)(1 - a) = 1 - a x",
    "induction over the drafts of a block: one before them adds its token, and with a goes on; none make 1 token, "
    "x = a",
    wrong="x for a x",
    right=False,
)
def longer_block(a: Any, T: Any, x: Any, *, right: bool = True) -> Stated:
    """T (1 - a) = 1 - x gives (1 + a T)(1 - a) = 1 - a x: a draft more, x being a^(drafts + 1)."""
    if not (a < 1 and T * (1 - a) == 1 - x):
        return []
    return [((a * T + 1) * (1 - a), eq, 1 - (a * x if right else x))]


@pointwise(
    "pointwise.speed-of-drafts",
    ("leviathan.expected-tokens",),
    "T/(g c + 1) of g c + 1 calls is T",
    "plain decoding makes a token a call",
    wrong="half of it",
    right=False,
)
def speed_of_drafts(T: Any, g: Any, c: Any, *, right: bool = True) -> Stated:
    """Tokens T of a step that costs g c + 1 calls are T/(g c + 1) times as many as a call makes."""
    cost = g * c + 1
    return [((T / cost) * cost, eq, T), (T / cost, le, T if right else T / 2)]


@pointwise(
    "pointwise.uniform-draft",
    ("sjd.refinement.certain",),
    "(1/V) min(1, p) = p/V, and (1 - x)/(1 - 1/V) < V/(V - 1) for x > 0",
    f"{SUM}: a draft is accepted with 1/V; then pointwise.longer-block with a = 1/V; at the end there are fewer drafts",
    wrong="below 1 - x",
    right=False,
)
def uniform_draft(p: Any, V: Any, x: Any, *, right: bool = True) -> Stated:
    """A uniform draft, 1/V, scored as a point mass is accepted with p; (1 - x) V/(V - 1) < V/(V - 1) for x > 0."""
    if not (p <= 1 and V > 1):
        return []
    share = 1 / V
    found: list[Comparison] = [(share * accepted(p, V / V), eq, p / V)]
    if x > 0 and x <= 1:
        tokens = (1 - x) / (1 - share)  # of a block of drafts that are accepted with 1/V each
        found += [(tokens, lt, V / (V - 1)) if right else (tokens, lt, 1 - x)]
    return found


@pointwise(
    "pointwise.verified-share",
    ("cspd.draft-length.bounds",),
    "with a = K/V: a/(1 + a/g) <= (K + R)/(V + B) <= (a + a/g)/(1 + a/g) for K <= V, R <= B, g B <= K",
    "K, V, B and R are means of counts of positions: verified drafts, those accepted, the target's own tokens; a "
    "lossless sequence is the target's at every draft length, and g drafts were accepted before each token of its own",
    wrong="a for a + a/g",
    right=False,
)
def verified_share(K: Any, V: Any, B: Any, R: Any, g: Any, *, right: bool = True) -> Stated:
    """K of V verified drafts are accepted, of B other positions R would be, g B <= K: the bounds of (K + R)/(V + B)."""
    if not (V > 0 and K <= V and R <= B and g >= 1 and g * B <= K):
        return []
    rate, mean = K / V, (K + R) / (V + B)
    step = rate / g
    return [(rate / (1 + step), le, mean), (mean, le, (rate + step if right else rate) / (1 + step))]


@pointwise(
    "pointwise.break-even",
    ("leviathan.cost-of-rows.break-even",),
    "C (a + s B + b B) > a + s B + b B r + e + f B just where B (b (r - C) + f - s (C - 1)) < (C - 1) a - e",
    "r and B are any real numbers here, and so any whole ones",
    wrong="drafts for nothing",
    drafting=False,
)
def break_even(a: Any, b: Any, s: Any, e: Any, f: Any, C: Any, r: Any, B: Any, *, drafting: bool = True) -> Stated:
    """C (a + s B + b B) over what a step costs exceeds 1 just where B (b (r - C) + f - s (C - 1)) < (C - 1) a - e."""
    step = a + s * B + b * B * r + (e + f * B if drafting else 0)
    if not (step > 0 and C >= 1 and r >= 1):
        return []
    speedup = C * (a + s * B + b * B) / step
    lost = B * (b * (r - C) + f - s * (C - 1))
    return [(speedup > 1, eq, lost < (C - 1) * a - e)]


@pointwise(
    "pointwise.mean-of-powers",
    ("leviathan.cost-of-rows.draft-length",),
    "x g <= G gives a x (g + 1) <= G + x for a <= 1",
    "induction over g: G is the sum of g powers of a, and x the next",
    wrong="without the next",
    right=False,
)
def mean_of_powers(g: Any, G: Any, x: Any, a: Any, *, right: bool = True) -> Stated:
    """Of g powers of a <= 1, which sum to G, the next, x, is at most the mean; and so it is one later."""
    if not (a <= 1 and x * g <= G):
        return []
    return [(x * a * (g + 1), le, G + x if right else G)]


@pointwise(
    "pointwise.cost-of-sequences",
    ("leviathan.cost-of-rows.draft-length",),
    "(b (g + 1) + g f)/G <= (b (g + 2) + (g + 1) f)/(G + x) for x (g + 1) <= G",
    "induction over draft lengths",
    wrong="falls",
    rises=False,
)
def cost_of_sequences(g: Any, G: Any, x: Any, b: Any, f: Any, *, rises: bool = True) -> Stated:
    """(b (g + 1) + g f)/G, what a token costs for a sequence of the batch, does not fall with g."""
    if not (G > 0 and x * (g + 1) <= G):
        return []
    before, after = (b * (g + 1) + f * g) / G, (b * (g + 2) + f * (g + 1)) / (G + x)
    return [(before, le, after)] if rises else [(after, le, before)]


@pointwise(
    "pointwise.stays-longer",
    ("leviathan.cost-of-rows.draft-length",),
    "u + B v <= U + B W and v <= W give u + (B + m) v <= U + (B + m) W",
    "U + B W is what a token costs by a longer draft: so none that was no better becomes better",
    wrong="any cost of a sequence",
    rises=False,
)
def stays_longer(u: Any, v: Any, U: Any, W: Any, B: Any, m: Any, *, rises: bool = True) -> Stated:
    """u + B v <= U + B W stays so for larger batches where v <= W: a longer draft does not become the better one."""
    if not ((v <= W or not rises) and u + B * v <= U + B * W):
        return []
    return [(u + (B + m) * v, le, U + (B + m) * W)]


@pointwise(
    "pointwise.longer-prefill",
    ("cspd.prefill.diminishing",),
    "2 S >= L (L + 1) d and d' <= d give L (S + (L + 1) d') <= (L + 2) S and 2 (S + (L + 1) d') >= (L + 1) (L + 2) d'",
    "induction over the positions from the end: d are the falls of the rates, S the sum of k d_k, S/(L (L + 1)) what "
    "the mean of L + 1 rates is above that of L",
    wrong="rates that are convex",
    right=False,
)
def longer_prefill(L: Any, d: Any, c: Any, e: Any, S: Any, R: Any, *, right: bool = True) -> Stated:
    """2 S >= L (L + 1) d and d' <= d: the gain S/(L (L + 1)) does not rise, and S + (L + 1) d' is such an S again."""
    fall, whole = d - c, S - R
    after = fall - e if right else fall + e
    if not (L >= 1 and 2 * whole >= L * (L + 1) * fall):
        return []
    more = whole + (L + 1) * after
    return [(more * L, le, whole * (L + 2)), (2 * more, ge, (L + 1) * (L + 2) * after)]


@pointwise(
    "pointwise.least-left-out",
    ("cspd.prefill.raises",),
    "b n < S gives (S + b)/(n + 1) < S/n",
    "S is the sum of n rates, each of which is larger than b",
    wrong="any rate",
    right=False,
)
def least_left_out(S: Any, n: Any, b: Any, *, right: bool = True) -> Stated:
    """A rate b below the mean S/n of the others: leaving it out raises the mean."""
    if not (n >= 1 and (b * n < S or not right)):
        return []
    return [((S + b) / (n + 1), lt, S / n)]


@pointwise(
    "pointwise.tangents",
    ("leviathan.expected-tokens.block",),
    "R >= B + D (r - b) and B R <= B^2 + D (r - b) R, for R = 1 + ... + r^(n-1), B the same of b, D its derivative",
    "induction over n, from R = B = 1 and D = 0; a mean over blocks with b the mean rate, of n = gamma + 1 powers; "
    "and with b the rate of verified drafts, of n = gamma",
    wrong="tangents from above",
    right=False,
)
def tangents(r: Any, b: Any, R: Any, B: Any, D: Any, *, right: bool = True) -> Stated:
    """What makes both bounds for blocks of one rate r each, carried from n powers to n + 1.

    R and B are the sums of n powers of r and b, D is B's derivative: R >= B + D (r - b), B R <= B^2 + D (r - b) R.
    """
    apart, gap = r - b, R - B
    if not (r <= 1 and b <= 1 and R >= 1 and B >= 1):
        return []
    if not (gap * apart >= 0 and gap * apart <= apart * apart * R * B and (1 - b) * B <= 1):
        return []
    if not (gap >= D * apart and B * gap <= D * apart * R):
        return []
    next_one, next_other, next_slope = r * R + 1, b * B + 1, B + b * D
    next_gap = next_one - next_other
    found = [
        (next_gap * apart, ge, 0),
        (next_gap * apart, le, apart * apart * next_one * next_other),
        ((1 - b) * next_other, le, 1),
        (next_gap, ge, next_slope * apart),
        (next_other * next_gap, le, next_slope * apart * next_one),
    ]
    return found if right else [(next_gap, le, next_slope * apart)]


@pointwise(
    "pointwise.typical",
    ("typical.law",),
    "|q [x in A] + (1 - Q) p - p| = Q |p - q [x in A]/Q|",
    f"{SUM}; Q is q(A), and A any set of tokens",
    wrong="q not scaled",
    right=False,
)
def typical(p: Any, q: Any, Q: Any, *, right: bool = True) -> Stated:
    """Where a token is accepted, or not, and p replaces what is rejected, 1 - Q of all: its mass, and how far off p."""
    if not (Q > 0 and Q <= 1):
        return []
    found: list[Comparison] = []
    for inside in (0, 1):
        emitted = q * inside + p * (1 - Q)
        scaled_ = q * inside / Q if right else q * inside
        found.append((abs(emitted - p), eq, Q * abs(p - scaled_)))
    return found

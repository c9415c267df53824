"""Claims of "Grouped Speculative Decoding for Autoregressive Image Generation" (GSD), and of its code."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

from simlab.decoders import SpeculativeDecoder
from simlab.processes import TableProcess
from simlab.rules import Grouped, Rule, Speculative, make_rule
from theory.acceptance import alpha
from theory.claims.base import Claims, Evidence, Finding, Verdict, needed, numbers, require, shown, shown_row
from theory.distances import tv
from theory.exact import acceptance, mean, sequence_law, step_law
from theory.search import Pmf, grouped_pairs, pairs, searched, sized_pairs, smallest_violation
from theory.worlds import random_row

CLAIMS = Claims("gsd")


def described(rule: str, parameters: dict[str, Any], p: Pmf, q: Pmf, **more: Any) -> dict[str, Any]:
    """A counterexample for one pair of rows: what the rule does there, and what the lossless rule does."""
    made = make_rule(rule, **parameters)
    law = step_law(made, p, q)
    return numbers(
        rule,
        parameters,
        p=p,
        q=q,
        acceptance=acceptance(made, p, q),
        acceptance_speculative=alpha(p, q),
        law=law,
        tv=tv(law, p),
        **more,
    )


# Theorem 1 -----------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "gsd.theorem-1",
    "Theorem 1",
    "For every (p, q) and every disjoint partition, alpha_GSD >= alpha_SD.",
    ["gsd.theorem-1.partition"],
)


@CLAIMS.claim(
    "gsd.theorem-1.partition",
    "Theorem 1",
    "For every pair of rows and every partition fixed before the draft is drawn, alpha_GSD >= alpha_SD.",
)
def theorem_1(seed: int) -> Finding:
    """Summing q(x) min(1, P(C)/Q(C)) over the tokens of a group gives min(P(C), Q(C)), so alpha_GSD =
    sum_C min(P, Q) = 1 - TV(P, Q). Within a group |P - Q| <= sum |p - q|, so TV(P, Q) <= TV(p, q). It matters
    that the groups are a partition that does not depend on the drafted token: only then do the sums close.
    """
    found = smallest_violation(grouped_pairs, lambda e: acceptance(Grouped(e[2]), e[0], e[1]) < alpha(e[0], e[1]), seed)
    random, worst = Random(seed), Fraction(0)
    for _ in range(300):
        p, q = (random_row(random, 5) for _ in "pq")
        labels = [random.randrange(3) for _ in range(5)]
        masses = [[sum(r[x] for x in range(5) if labels[x] == g) for g in range(3)] for r in (p, q)]
        worst = max(worst, abs(acceptance(Grouped(labels), p, q) - (1 - tv(*masses))))
    wrong = smallest_violation(
        grouped_pairs, lambda e: acceptance(_HalfRatio(e[2]), e[0], e[1]) < alpha(e[0], e[1]), seed
    )
    require(wrong is not None, "the search does not find that half the group ratio can accept less")
    return Finding(
        "holds" if found is None and worst == 0 else "refuted",
        [
            Evidence(
                "identity",
                f"alpha_GSD = 1 - TV(P, Q) in rationals on 300 pairs and partitions of 5 tokens "
                f"(largest difference {shown(worst)})",
            ),
            Evidence("search", searched()),
            Evidence("control", "the same search finds a violation when the group ratio is halved"),
        ],
    )


class _HalfRatio(Grouped):
    """Accepts with half the ratio of the group masses."""

    def _masses(self, p: Any, q: Any, x: Any) -> tuple[Any, Any]:
        target, draft = super()._masses(p, q, x)
        return target / 2, draft


@CLAIMS.claim(
    "gsd.speed",
    "4.1, first sentence",
    "GSD improves or at least preserves decoding speed regardless of how clusters are formed.",
)
def speed(seed: int) -> Finding:
    """Theorem 1 compares one position at equal p and q. A grouped rule also changes which tokens come out, and
    so which rows come next. If the tokens it prefers lead to contexts where draft and target disagree across
    groups, every later position is rejected, and decoding takes more steps than with the lossless rule.
    """
    length, gamma, labels = 4, 2, (0, 0, 1)
    # the draft says 1 where the target says 0; after a 1 they disagree across groups for good
    p = TableProcess(3, length, lambda prefix: [1, 0, 0])
    q = TableProcess(3, length, lambda prefix: [0, 1, 0] if not prefix else [1, 0, 0] if prefix[0] == 0 else [0, 0, 1])
    decoder = SpeculativeDecoder(gamma)
    steps = {
        name: mean(sequence_law(decoder, p, rule, q)[1])
        for name, rule in (("sd", Speculative()), ("gsd", Grouped(labels)))
    }
    slower = steps["gsd"] > steps["sd"]
    return Finding(
        "refuted" if slower else "not-refuted",
        [
            Evidence(
                "counterexample",
                f"four tokens, two drafts a block, tokens 0, 1 in one group: the lossless rule takes "
                f"{shown(steps['sd'])} steps, GSD {shown(steps['gsd'])}. The first draft, 1 for 0, is kept for its "
                f"group, and after it every draft is rejected",
                numbers(
                    "grouped",
                    {"labels": labels},
                    gamma=gamma,
                    length=length,
                    p={"any prefix": [1, 0, 0]},
                    q={"": [0, 1, 0], "0 ...": [1, 0, 0], "1 ...": [0, 0, 1]},
                    steps=steps["gsd"],
                    steps_speculative=steps["sd"],
                ),
            )
        ],
    )


# Algorithm 3 ---------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "gsd.dynamic",
    "4.1, Algorithm 3",
    "The guarantee of Theorem 1 also holds for Algorithm 3's groups: sorted by p, a window around the "
    "drafted token, filtered by d and delta.",
    ["gsd.dynamic.printed", "gsd.dynamic.clamped", "gsd.dynamic.centred", "gsd.dynamic.partition"],
)

WINDOW_LEVELS, WINDOW_TRIES = ((2, 1), (3, 2), (4, 2), (5, 2), (5, 3)), 700  # symmetric windows need five tokens
WINDOWS = {
    "printed": "the slice as printed",
    "clamped": "the printed slice clipped to the list",
    "centred": "a symmetric window clipped to the list",
}


OVERLAP = """Around every drafted token there is another group, so the groups overlap and the sums of Theorem 1 do not
close. A token with p(x) >= q(x), which the lossless rule always keeps, can share its window with tokens on which
q exceeds p, and is then rejected with positive probability."""
EMPTY = """A token among the G//2 least likely ones has a negative start, which Python counts from the end: its slice is
empty, and its draft is rejected even where p >= q. Further up the windows overlap, as in the other readings."""


def _dynamic(window: str) -> Callable[[int], Finding]:
    def decide(seed: int) -> Finding:
        evidence = []
        for filters in ("off", "on"):
            found = smallest_violation(sized_pairs, _accepts_less(window, filters), seed, WINDOW_LEVELS, WINDOW_TRIES)
            if found is None:
                evidence.append(Evidence("search", f"filters {filters}: {searched(WINDOW_LEVELS, WINDOW_TRIES)}"))
                continue
            p, q, _ = found
            parameters = _group(window, found, filters)
            accepts = acceptance(make_rule("dynamic-grouped", **parameters), p, q)
            evidence.append(
                Evidence(
                    "counterexample",
                    f"{len(p)} tokens, G = {parameters['size']}, "
                    + (
                        f"delta = {parameters['max_gap']}, d = {parameters['max_distance']}, tokens on a line 1/4 apart"
                        if filters == "on"
                        else "no filters"
                    )
                    + f": acceptance {shown(accepts)} against {shown(alpha(p, q))} for speculative sampling",
                    described("dynamic-grouped", parameters, p, q),
                )
            )
        refuted = any(e.kind == "counterexample" for e in evidence)
        return Finding("refuted" if refuted else "not-refuted", evidence)

    decide.__doc__ = EMPTY if window == "printed" else OVERLAP
    return decide


def _accepts_less(window: str, filters: str) -> Callable[[tuple[Pmf, Pmf, int]], bool]:
    def violates(e: tuple[Pmf, Pmf, int]) -> bool:
        return acceptance(make_rule("dynamic-grouped", **_group(window, e, filters)), *e[:2]) < alpha(*e[:2])

    return violates


def _group(window: str, example: tuple[Pmf, Pmf, int], filters: str) -> dict[str, Any]:
    """Algorithm 3's parameters: without filters, or with the paper's d and delta."""
    p, _, size = example
    line = [[abs(x - y) / 4 for y in range(len(p))] for x in range(len(p))]
    on = filters == "on"
    return {
        "size": size,
        "max_gap": 0.15 if on else None,
        "max_distance": 0.5 if on else None,
        "distances": line if on else None,
        "window": window,
    }


for _window, _reading in WINDOWS.items():
    CLAIMS.claim(
        f"gsd.dynamic.{_window}",
        "4.1, Algorithm 3",
        f"alpha_GSD >= alpha_SD for Algorithm 3's groups, read as {_reading}.",
    )(_dynamic(_window))


@CLAIMS.claim(
    "gsd.dynamic.partition",
    "4.1",
    "alpha_GSD >= alpha_SD for groups that change from step to step with p.",
    assumptions=["the groups of a step are a partition, and do not depend on the drafted token"],
)
def dynamic_partition(seed: int) -> Finding:
    """Theorem 1 is a statement about one step. A partition made from p alone, for instance consecutive runs of G
    ranks, is fixed before the draft is looked at, and the theorem applies to each step as it stands.
    """

    def runs(p: Pmf, size: int) -> list[int]:
        rank = {x: r for r, x in enumerate(sorted(range(len(p)), key=lambda x: p[x]))}
        return [rank[x] // size for x in range(len(p))]

    found = smallest_violation(
        sized_pairs, lambda e: acceptance(Grouped(runs(e[0], e[2])), e[0], e[1]) < alpha(e[0], e[1]), seed
    )
    overlapping = needed(
        smallest_violation(sized_pairs, _accepts_less("clamped", "off"), seed),
        "the search does not find that overlapping windows can accept less",
    )
    return Finding(
        "holds-under-assumptions" if found is None else "refuted",
        [
            Evidence("search", f"consecutive runs of G ranks: {searched() if found is None else found}"),
            Evidence("control", f"the same search over clamped windows finds p = {shown_row(overlapping[0])}"),
        ],
    )


@CLAIMS.claim(
    "gsd.printed-slice",
    "Algorithm 3",
    "The slice as printed, [idx - G//2 : idx + G//2], contains the drafted token for every rank.",
)
def printed_slice(seed: int) -> Finding:
    """For idx < G//2 the start is negative. In Python it then counts from the end, and the slice is empty or holds
    other tokens unless G//2 reaches round the whole list; an odd G loses its upper neighbour; G = 1 is empty.
    """
    missing = [
        (v, g, r)
        for v in range(2, 13)
        for g in range(1, 13)
        for r in range(v)
        if r not in list(range(v))[r - g // 2 : r + g // 2]
    ]
    p = tuple(Fraction(k, 6) for k in (1, 2, 3))
    parameters = {"size": 3, "max_gap": None, "max_distance": None, "distances": None, "window": "printed"}
    kept = make_rule("dynamic-grouped", **parameters).accept(list(p), list(p), 0)
    agrees = (kept == 0) == ((3, 3, 0) in missing)
    require(bool(agrees), "the rule and Python's own slice disagree about rank 0 of 3 at G = 3")
    share = len(missing) / sum(12 * v for v in range(2, 13))
    verdict: Verdict = "refuted" if missing else "holds"
    return Finding(
        verdict,
        [
            Evidence(
                "counterexample",
                f"with three tokens and G = 3 the least likely token has idx = 0 and the slice [-1 : 1] is "
                f"empty, so a draft with p = q is rejected; over V, G up to 12 the token is missing from its "
                f"own group in {share:.0%} of all ranks",
                described("dynamic-grouped", parameters, p, p, x=0),
            )
        ],
    )


# What comes out ------------------------------------------------------------------------------------------------

CLAIMS.summary(
    "gsd.unbiased",
    "5.1",
    'Raising numerator and denominator together is "unbiased": the law of the output against p, '
    "token-wise and group-wise; and what a group-level residual would change.",
    ["gsd.unbiased.token", "gsd.unbiased.group", "gsd.unbiased.group-residual"],
)


def _group_masses(row: Any, labels: tuple[int, ...]) -> list[Fraction]:
    return [sum((m for m, g in zip(row, labels, strict=True) if g == label), Fraction(0)) for label in set(labels)]


def _biased(rule: str, level: Callable[[Any, tuple[int, ...]], Any]) -> Callable[[tuple], bool]:
    def violates(example: tuple[Pmf, Pmf, tuple[int, ...]]) -> bool:
        p, q, labels = example
        return bool(tv(level(step_law(make_rule(rule, labels=labels), p, q), labels), level(p, labels)) > 0)

    return violates


@CLAIMS.claim("gsd.unbiased.token", "5.1", "The token GSD emits follows p (token-level residual, as printed).")
def unbiased_token(seed: int) -> Finding:
    """Within a group tokens are kept in proportion to q, not p, and the residual does not make up for it."""
    found = smallest_violation(grouped_pairs, _biased("grouped", lambda row, labels: row), seed)
    return _unbiased(found, "token", lambda row, labels: row)


@CLAIMS.claim("gsd.unbiased.group", "5.1", "The group GSD emits follows P (token-level residual, as printed).")
def unbiased_group(seed: int) -> Finding:
    """A group is kept with mass min(P, Q), so it lacks [P - Q]^+. The token-level residual hands the rejected mass
    out in proportion to the group sums of [p - q]^+, which is something else as soon as a group has tokens
    on both sides.
    """
    found = smallest_violation(grouped_pairs, _biased("grouped", _group_masses), seed)
    return _unbiased(found, "group", _group_masses)


def _unbiased(found: Any, what: str, level: Callable[[Any, tuple[int, ...]], Any]) -> Finding:
    if found is None:
        return Finding("not-refuted", [Evidence("search", searched())])
    p, q, labels = found
    law = level(step_law(Grouped(labels), p, q), labels)
    aim = level(p, labels)
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                f"{len(p)} tokens in groups {labels}: the {what} law is ({', '.join(map(shown, law))}) where "
                f"the target has ({', '.join(map(shown, aim))})",
                described(
                    "grouped",
                    {"labels": labels},
                    p,
                    q,
                    **({"group_law": law, "group_target": aim} if what == "group" else {}),
                ),
            )
        ],
    )


@CLAIMS.claim(
    "gsd.unbiased.group-residual",
    "not in the paper",
    "With the group-level residual ([P - Q]+ over groups, p within a group) the group emitted follows P.",
    stated=False,
)
def unbiased_group_residual(seed: int) -> Finding:
    """Speculative sampling of the group: a draft's group follows Q, is kept with min(1, P/Q), and is replaced by one
    from [P - Q]+. So the group follows P exactly. The token within it does not follow p: kept tokens follow q
    within their group.
    """
    rule = "grouped-group-residual"
    found = smallest_violation(grouped_pairs, _biased(rule, _group_masses), seed)
    token = needed(
        smallest_violation(grouped_pairs, _biased(rule, lambda row, labels: row), seed),
        "the search does not find that tokens within a group follow q",
    )
    printed = smallest_violation(grouped_pairs, _biased("grouped", _group_masses), seed)
    require(printed is not None, "the search does not tell the group residual from the printed one")
    p, q, labels = token
    return Finding(
        "holds" if found is None else "refuted",
        [
            Evidence("search", f"the group law is P: {searched()}"),
            Evidence(
                "example",
                "token by token it is still not p: kept tokens follow q within their group",
                described(rule, {"labels": labels}, p, q),
            ),
            Evidence("control", "the same search finds that the printed residual does not keep the group law"),
        ],
    )


CLAIMS.summary(
    "gsd.support",
    "Algorithm 3",
    "GSD never emits a token of target probability 0.",
    ["gsd.support.partition", "gsd.support.printed", "gsd.support.clamped", "gsd.support.centred"],
)

DELTA = 0.15  # the paper's filter on the gap of probabilities


def emits_impossible(rule: Rule, p: Pmf, q: Pmf) -> Fraction:
    """The probability that a token of target probability 0 comes out."""
    return sum((m for m, t in zip(step_law(rule, p, q), p, strict=True) if t == 0), Fraction(0))


@CLAIMS.claim(
    "gsd.support.partition", "4, eq. 4", "Over a fixed partition no token of target probability 0 is emitted."
)
def support_partition(seed: int) -> Finding:
    """A draft of target probability 0 is kept with the ratio of its group's masses, which is positive as soon as any
    token of the group has p > 0.
    """
    found = smallest_violation(grouped_pairs, lambda e: emits_impossible(Grouped(e[2]), *e[:2]) > 0, seed)
    lossless = smallest_violation(pairs, lambda e: emits_impossible(Speculative(), *e) > 0, seed)
    require(lossless is None, f"speculative sampling emitted a token of target probability 0: {lossless}")
    return _impossible(found, "grouped", {} if found is None else {"labels": found[2]})


def _impossible(found: Any, rule: str, parameters: dict[str, Any]) -> Finding:
    if found is None:
        return Finding("not-refuted", [Evidence("search", searched())])
    p, q = found[:2]
    leak = emits_impossible(make_rule(rule, **parameters), p, q)
    told = {name: value for name, value in parameters.items() if value is not None}
    return Finding(
        "refuted",
        [
            Evidence(
                "counterexample",
                f"{len(p)} tokens, {told}: a token of target probability 0 comes out with probability {shown(leak)}",
                described(rule, parameters, p, q),
            ),
            Evidence("control", "the same search finds nothing for speculative sampling (gsd.support.partition)"),
        ],
    )


def _leaks(window: str) -> Callable[[tuple[Pmf, Pmf, int]], bool]:
    return lambda e: emits_impossible(make_rule("dynamic-grouped", **_with_delta(window, e[2])), *e[:2]) > 0


def _with_delta(window: str, size: int) -> dict[str, Any]:
    return {"size": size, "max_gap": DELTA, "max_distance": None, "distances": None, "window": window}


def _support(window: str) -> Callable[[int], Finding]:
    def decide(seed: int) -> Finding:
        """A draft of target probability 0 is kept with the ratio of its window's masses, which is positive as soon as
        the window reaches a token with p > 0. The filter |p(y) - p(x)| <= delta does not help: it lets in
        neighbours of small positive probability, which is what an image model's rows are made of. (Clamped windows
        reach upwards only from G = 4 on.)
        """
        found = smallest_violation(sized_pairs, _leaks(window), seed)
        return _impossible(found, "dynamic-grouped", {} if found is None else _with_delta(window, found[2]))

    return decide


for _window in ("clamped", "centred"):
    CLAIMS.claim(
        f"gsd.support.{_window}",
        "Algorithm 3",
        f"With Algorithm 3's groups, read as {WINDOWS[_window]}, no token of target probability 0 is emitted.",
    )(_support(_window))


@CLAIMS.claim(
    "gsd.support.printed",
    "Algorithm 3",
    "With Algorithm 3's groups, the slice taken as printed, no token of target probability 0 is emitted.",
    assumptions=["the vocabulary holds at least 2 (G//2) tokens"],
)
def support_printed(seed: int) -> Finding:
    """Tokens of probability 0 are first in the sorted list, and all of them are found at idx = 0. Their slice
    [-G//2 : G//2] starts V - G//2 places from the front and is empty for V >= 2 (G//2): they are always rejected, and
    the residual [p - q]+ has no mass where p has none. In a smaller vocabulary the slice is not empty.
    """
    leaks = _leaks("printed")
    found = smallest_violation(sized_pairs, lambda e: len(e[0]) >= 2 * (e[2] // 2) and leaks(e), seed)
    small = needed(
        smallest_violation(sized_pairs, leaks, seed), "the search does not find the leak of a smaller vocabulary"
    )
    return Finding(
        "holds-under-assumptions" if found is None else "refuted",
        [
            Evidence("search", searched() if found is None else f"found {found}"),
            Evidence(
                "example",
                f"without the assumption: {len(small[0])} tokens, G = {small[2]}",
                described("dynamic-grouped", _with_delta("printed", small[2]), *small[:2]),
            ),
        ],
    )

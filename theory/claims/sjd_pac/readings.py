"""What SJD-PAC leaves open, reading by reading: which are lossless, and what each costs or saves in steps."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from simlab.arrays import Number
from simlab.decoders import Decoder, Sjd, SjdAc, SjdPac, SjdPd
from simlab.decoders.tree import make_tree
from simlab.mutants import trees
from simlab.processes import TableProcess
from simlab.rules import Rule, Speculative, make_rule
from theory.candidates import candidate_sets, candidates_law, optimal_acceptance
from theory.claims.base import Claims, Finding
from theory.claims.baselines.baselines import shortfall
from theory.claims.evidence import (
    counterexample,
    described,
    enumeration,
    first,
    holds_if,
    not_refuted_if,
    refuted_if,
    rejects_mutants,
    require,
    require_found,
    simulation,
)
from theory.claims.format import fmt, fmt_row, numbers
from theory.claims.sjd.losslessness import deviation, mean_steps, random_tables
from theory.claims.sjd_pac.losslessness import left_gap
from theory.claims.sjd_pac.speed import SIMULATES, comb, printed_compression
from theory.distances import aligned, tv
from theory.exact import sequence_law
from theory.example_processes import random_process
from theory.image_process import FALSE_ALARMS, FEW, compare, speed, stated
from theory.search import pairs, smallest_violation

CLAIMS = Claims("sjd-pac")
PAIR_HALF = (Fraction(1, 2), Fraction(1, 2))
PAIR = (Fraction(1, 3),) * 3, (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))  # p, q
BUDGET, WIDTH, DEPTH = 64, 4, 3  # the paper's L, K and D


def processes(seed: int) -> list[TableProcess]:
    """Processes with room for a tree: V = 3, four tokens."""
    return [random_process(seed + k, 3, 4, zeros=0.35) for k in range(2)]


def steps(decoder: Decoder, some: list[TableProcess]) -> Fraction:
    """Exact mean number of calls, averaged over processes."""
    return Fraction(sum(mean_steps(decoder, process) for process in some), len(some))


CLAIMS.summary(
    "pac.readings",
    "4.1, 4.3, Table 2",
    "Some reading of what the paper leaves open is lossless, fits its budget, and takes as few steps as it prints.",
    ["pac.readings.budget", "pac.readings.bonus", "pac.readings.kept", "pac.readings.shared", "pac.readings.steps"],
)


@CLAIMS.claim(
    "pac.readings.budget",
    "4.1, 5.1, 5.3.2",
    "With K = 4 branches a node, D = 3 and 64 verified tokens the tree cannot be full; a comb fits with a chain of 55.",
    stated=False,
)
def budget(seed: int) -> Finding:
    """A full tree has 4 + 16 + 64 = 84 nodes in its first three positions alone, more than the 64 tokens a call
    verifies, before any chain. A comb has 4 a position: with a chain of L - (K - 1) D = 55 drafts it has exactly 64.
    The shapes are counted by making them.
    """
    combs = {w: make_tree("comb", w, WIDTH, DEPTH).nodes for w in (54, 55, 56)}
    smallest = make_tree("full", DEPTH, WIDTH, DEPTH).nodes
    require(combs[54] < BUDGET < combs[56], "the count of nodes does not tell windows apart")
    return holds_if(
        smallest > BUDGET == combs[55],
        enumeration(
            f"the smallest full tree with K = 4, D = 3 has {smallest} nodes, {smallest - BUDGET} over the budget "
            f"of 64; a comb with a chain of 55 drafts has {combs[55]}, with 56 it has {combs[56]}",
        ),
    )


@CLAIMS.claim(
    "pac.readings.bonus",
    "4.1",
    "Without a bonus token after an accepted sibling a comb takes exactly as many steps as no tree at all.",
    stated=False,
)
def bonus(seed: int) -> Finding:
    """Where the chain's own token at position j is accepted, both go on. Where it is rejected, the chain commits a
    token from the residual there and stops. The comb may accept a sibling or not, but commits one token there and
    stops, since only the chain has children; and given the rejection that token follows the residual too (pac.theorem-2
    for the candidates that are left). Siblings are drawn from rows that are known and verified only here, so what
    stays in the window is the same in law. So are the steps. What a comb gains is the bonus token from the accepted
    sibling's row.
    """
    some = processes(seed)

    def apart(make: Callable[..., Decoder]) -> Number:
        """TV between the laws of steps with and without trees, on the first process where they differ."""
        for process in some:
            for with_tree, chain in ((make(SjdPd), Sjd(3, bonus=False)), (make(SjdPac), SjdAc(3, bonus=False))):
                found, plain = (sequence_law(d, process, Speculative())[1] for d in (with_tree, chain))
                if found != plain:
                    return Fraction(tv(*aligned(found, plain)))
        return Fraction(0)

    same = apart(lambda make: make(3, bonus=False, candidates=2, depth=2))
    wrong: dict[str, Callable[..., Decoder]] = {
        "with the bonus": lambda make: make(3, candidates=2, depth=2),
        "a full tree": lambda make: make(3, bonus=False, candidates=2, depth=2, tree="full"),
    }
    return holds_if(
        same == 0,
        enumeration(
            "the laws of the number of steps of sjd-pd and sjd-pac without bonus equal those of sjd and sjd-ac "
            f"without bonus, on {len(some)} processes (TV {fmt(same)})",
        ),
        rejects_mutants(wrong, apart, "the number of steps"),
    )


@CLAIMS.claim(
    "pac.readings.kept",
    "4.3",
    "The kept token may be the first candidate of its node, or be dropped for K fresh ones: both are lossless.",
    stated=False,
)
def kept(seed: int) -> Finding:
    """Fresh candidates follow their declared rows as kept ones do, so both are lossless, and at its own position a
    kept token is accepted no more often than a fresh one: given the left it has the same law. What keeping saves are
    the rows behind it, which were computed with the kept token and are stale for any other. As the last candidate it
    is not lossless: siblings drawn without replacement may not change places.
    """
    some = processes(seed)
    shape: dict[str, Any] = {"candidates": 2, "depth": 1}
    exact = {
        "kept token first": steps(SjdPac(3, **shape), some),
        "dropped": steps(SjdPac(3, kept="dropped", **shape), some),
        "no continuation": steps(SjdPd(3, **shape), some),
    }
    lossless = max(deviation(SjdPac(3, kept="dropped", **shape), process) for process in some)
    last = trees.OwnTokenLast(3, **shape)
    both = max(lossless, *(deviation(SjdPac(3, **shape), process) for process in some))
    return holds_if(
        both == 0,
        enumeration(
            f"the sequence law of both readings is the target's on {len(some)} processes (largest TV "
            f"{fmt(both)}); exact mean steps for 4 tokens, V = 3, window 3, K = 2, D = 1: "
            + ", ".join(f"{name} {float(value):.4f}" for name, value in exact.items()),
        ),
        rejects_mutants(
            {"kept token last": last}, lambda d: first(deviation(d, process) for process in some), "the sequence law"
        ),
    )


@CLAIMS.claim(
    "pac.readings.shared",
    "4.1",
    "All nodes of one position may share their candidates: that is lossless as well.",
    stated=False,
)
def shared(seed: int) -> Finding:
    """One node a position is verified, and its candidates have the right law, whichever other nodes have the same. The
    shared candidates must not depend on which node above is accepted, and they do not: they are drawn before. Steps
    differ slightly where the walk leaves the chain: with shared candidates it may come to the very tokens that the
    chain's rows behind the tree were computed with.
    """
    some = processes(seed)
    shape: dict[str, Any] = {"candidates": 2, "depth": 2, "tree": "full"}
    worst = max(deviation(SjdPac(2, shared=True, **shape), process) for process in some)
    own, common = (steps(SjdPac(3, shared=s, **shape), some[:1]) for s in (False, True))
    wrong = trees.WrongBranch(2, shared=True, **shape)
    return holds_if(
        worst == 0,
        enumeration(
            f"the sequence law equals the target's in rationals on {len(some)} processes (largest TV "
            f"{fmt(worst)}); exact mean steps, full tree, K = D = 2, window 3, one of them: own candidates "
            f"{float(own):.4f}, shared {float(common):.4f}",
        ),
        rejects_mutants(
            {"first candidate's branch after another": wrong},
            lambda d: first(deviation(d, process) for process in some),
            "the sequence law",
        ),
    )


@CLAIMS.claim(
    "pac.readings.steps",
    "Table 2",
    "Some lossless reading takes as few steps as Table 2 prints for +PD and for +PD+AC.",
    stated=False,
    simulates=SIMULATES,
)
def reading_steps(seed: int) -> Finding:
    """A comb without the bonus after a sibling saves nothing (pac.readings.bonus), and a full tree of K = 4, D = 3 does
    not fit the budget (pac.readings.budget). Judged on the image-like process, where the number of the full method was
    fitted, to the comb with that bonus and the kept token first: whether it also predicts that of +PD, and what the
    others come to.
    """
    tree: dict[str, Any] = {"candidates": 4, "depth": 3}
    small: dict[str, Any] = {"candidates": 2, "depth": 3, "tree": "full"}  # 14 nodes of 64
    pd = speed(comb(SjdPd, 32), seed)
    readings: dict[str, Decoder] = {
        "comb": comb(SjdPac, 64),
        "comb, chain of 64": SjdPac(64, **tree),
        "comb, kept token dropped": SjdPac(55, kept="dropped", **tree),
        "comb, no bonus": SjdPac(55, bonus=False, **tree),
        "full tree of K = 2": SjdPac(53, **small),
    }
    # the last four are compared with the first; only for a dropped token are the calls so different that signs suffice
    images = {name: FEW if name in ("comb", "comb, kept token dropped") else FEW // 2 for name in readings}
    found = {name: speed(decoder, seed, images[name]) for name, decoder in readings.items()}
    gains = {
        name: compare(value, speed(readings["comb"], seed, images[name]))
        for name, value in found.items()
        if name != "comb"
    }
    printed = {
        method: printed_compression("2", method, L=length) for method, length in (("sjd+pd", 32), ("sjd+pd+ac", 64))
    }
    low, high = pd.mean.interval(1 - FALSE_ALARMS)
    slow = speed(SjdPd(23, bonus=False, **tree), seed)
    control = rejects_mutants(
        {"+PD without the bonus": slow},
        lambda s: max(0, printed["sjd+pd"] - s.mean.interval(1 - FALSE_ALARMS)[1]),
        "what is printed of +PD",
    )
    return not_refuted_if(
        low <= printed["sjd+pd"] <= high,
        simulation(
            f"image-like process, tokens a call: +PD with L = 32, comb: {pd} (printed {printed['sjd+pd']}; from "
            f"{low:.2f} to {high:.2f} at 1 - {FALSE_ALARMS:g}), without the bonus {slow}; +PD+AC with L = 64: "
            + "; ".join(f"{name} {value}" for name, value in found.items())
            + f" (printed {printed['sjd+pd+ac']}, fitted to the comb); against the comb: "
            + "; ".join(f"{name} {value}" for name, value in gains.items())
            + f"; {stated(FEW)}, n = {FEW // 2} where fewer are compared",
        ),
        control,
    )


@CLAIMS.claim(
    "pac.continuation-speed",
    "4.2",
    "Adaptive continuation never takes more steps than SJD.",
    stated=False,
)
def continuation_speed(seed: int) -> Finding:
    """Keeping a token keeps the rows behind it right, if the tokens to its left that did change matter little to
    them. Where they matter, keeping can be worse than drawing anew. Four tokens of two kinds: 0, a uniform one, one
    that the first two decide, a uniform one; window 3. If the first draft was a 1, it is replaced by 0, and the third
    draft was made for (1, x). If the third token copies the second, continuation keeps x and the third draft is
    right; if it is the second after a 0 and the other one after a 1, continuation keeps x and the third draft is
    surely wrong, where drawing x anew makes it right half of the time.
    """
    by_name = {"copy": _four(lambda a, b: b), "compare": _four(lambda a, b: a ^ b)}
    found = {name: (mean_steps(Sjd(3), process), mean_steps(SjdAc(3), process)) for name, process in by_name.items()}
    require(
        max(deviation(SjdAc(3), process) for process in by_name.values()) == 0, "continuation is not lossless there"
    )
    return refuted_if(
        found["compare"][1] > found["compare"][0],
        counterexample(
            "mean steps of SJD and with continuation: "
            + ", ".join(f"third token as in {name!r} {fmt(a)} and {fmt(b)}" for name, (a, b) in found.items()),
            numbers(
                p={"": (1, 0), "0": PAIR_HALF, "00": (1, 0), "01": (0, 1), "10": (0, 1), "11": (1, 0)},
                q={"new draft": PAIR_HALF},
                window=3,
                steps_sjd=found["compare"][0],
                steps_continuation=found["compare"][1],
            ),
        ),
    )


def _four(third: Callable[[int, int], int]) -> TableProcess:
    """Four tokens of two kinds; the third is decided by the first two."""

    def row(prefix: tuple[int, ...]) -> tuple[Fraction, ...]:
        if len(prefix) in (0, 2):
            sure = third(*prefix) if prefix else 0
            return tuple(Fraction(int(token == sure)) for token in (0, 1))
        return PAIR_HALF

    return TableProcess(2, 4, row)


@CLAIMS.claim(
    "pac.relabel",
    "4.2, 6",
    "With a lossy acceptance rule, as the paper proposes for future work, the row of this call is still the q of a "
    "token that adaptive continuation has verified.",
    stated=False,
)
def relabel(seed: int) -> Finding:
    """What stands there follows the rule's output law for (p, q), which is not p for a lossy rule. Declaring p for it
    makes every later comparison one with a draft that was not drawn; declaring the law keeps drafts and declared
    rows together, and the only distortion is that of the rule.
    """
    rule: Rule = make_rule("grouped", labels=[0, 0, 1])
    some = [process for process in random_tables(seed, small=True) if process.vocabulary == 3]
    off = max(left_gap(SjdAc(2), process, rule) for process in some)
    true = max(left_gap(SjdAc(2, relabel="law"), process, rule) for process in some)
    require(max(left_gap(SjdAc(2), process) for process in some) == 0, "with the lossless rule p is the law")
    return refuted_if(
        off > 0 and true == 0,
        counterexample(
            "sjd-ac with groups (0, 0, 1), window 2, three tokens: the law of a draft differs from the declared "
            f"row by up to {fmt(off)}; with the rule's law declared (relabel = law) by {fmt(true)}",
            described("grouped", {"labels": [0, 0, 1]}, PAIR[0], PAIR[1]),
        ),
    )


@CLAIMS.claim(
    "pac.optimal",
    "4.1, App. A.3",
    "Verifying K candidates in turn accepts one as often as any lossless method can.",
    stated=False,
)
def optimal(seed: int) -> Finding:
    """The optimum is a transport between p and the law of the set of candidates (theory/candidates.py). For K = 1
    both are 1 - TV. For K >= 2 verification in turn must decide on c_1 before it has seen c_2, and can fall short.
    """
    found = require_found(
        smallest_violation(pairs, lambda e: shortfall(*e) > 0, seed, ((2, 1), (2, 3), (3, 1), (3, 2), (3, 4))),
        "verification in turn is optimal on every pair tried",
    )
    p, q = found
    best, turn = optimal_acceptance(p, candidate_sets(q, 2)), candidates_law(Speculative(), p, q, 2)[1]
    return refuted_if(
        turn < best,
        counterexample(
            f"{len(p)} tokens, K = 2, p = {fmt_row(p)}, q = {fmt_row(q)}: in turn {fmt(turn)}, optimum {fmt(best)}",
            numbers("speculative", {"candidates": 2}, p=p, q=q, acceptance=turn, optimal=best),
        ),
    )

"""Claims about CSpD's costs: of tokens pre-filled at the start, and of drafts by batch size."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, pairwise

import scipy

from theory.acceptance import expected_tokens
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.cspd.prefill import LENGTHS, falling, rising, table
from theory.claims.evidence import example, holds_if, identity, rejects_mutants, require
from theory.claims.format import fmt, numbers
from theory.claims.published.cspd import best_cost
from theory.claims.sources import said
from theory.continuous.positions import block_tokens, costs
from theory.published.ledger import Ledger, Row, grouped, published

CLAIMS = Claims("cspd")


@CLAIMS.claim(
    "cspd.prefill.no-cost",
    said(
        "3.2",
        "This does not increase inference latency, as speculative decoding at a low acceptance rate is functionally "
        "equivalent to the target model step-by-step decoding",
        "formalised",
        "a low acceptance rate is one at which a block commits no more tokens than it costs in calls of the target",
    ),
    "Where drafts at a position are accepted too rarely to pay for a block that begins there, pre-filling the token at "
    "this position does not raise the mean cost of a sequence.",
    assumptions=[
        r"calls: a block costs $C = 1 + \gamma c$, one call of the target and $\gamma$ of the draft, and a pre-filled "
        r"token costs one call of the target",
        "independent drafts: drafts are accepted independently of each other, each with the probability of its "
        "position",
        r"low acceptance: a block that begins at the position gives $\tau \le C$ tokens in the mean",
        r"later tokens: from the next position on, $k$ tokens, $k \le \gamma$, cost at most $k$ calls of the target",
    ],
)
def no_cost(seed: int) -> Finding:
    r"""Let $V(s)$ be the mean cost from position $s$ on, and $K$ the tokens of a block from $s$, of mean $\tau$; by
    independent drafts $V(s)$ is one number, whatever came before. By what calls cost, $V(s) = C + \mathbb{E} V(s + K) =
    C + V(s + 1) - \mathbb{E}[V(s + 1) - V(s + K)]$. The assumption on later tokens bounds the last term by $\tau - 1$,
    so that $V(s) \ge C + V(s + 1) - (\tau - 1)$, and with a low acceptance, $\tau \le C$, this is at least $1 + V(s +
    1)$, the cost with token $s$ pre-filled.

    Where no draft is accepted, $\tau = 1 \le C$: pre-filling saves the drafts, $\gamma c$ a token. With one rate
    throughout, and the end far away, a token costs $C / \tau$ (renewal), so that pre-filling is free exactly where the
    speedup $\tau / C$ of a block is at most 1.

    Not whatever drafts are accepted. Two tokens, $\gamma = 1$, drafts for nothing, accepted with probability 1/2: the
    first block costs a call, and half the time, when its draft is accepted, the target's own token is the second: 3/2
    calls in the mean. With the first token pre-filled it is one call for it and one for the block after: 2.
    """
    cases = [(row, gamma, Fraction(c, 20)) for row in rising(seed, 120) for gamma in (1, 2, 4) for c in (0, 1, 4)]

    def dearer(slack: Fraction) -> tuple[Fraction, int]:
        """The most a pre-filled token costs where it should be free, and in how many cases; ``slack`` widens those."""
        worst, count = Fraction(0), 0
        for row, gamma, c in cases:
            left = costs(row, gamma, c)
            for s in range(len(row)):
                later = [left[s + 1] - left[min(s + 1 + k, len(row))] <= k for k in range(1, gamma + 1)]
                if all(later) and block_tokens(row, s, gamma) <= slack * (1 + gamma * c):
                    worst, count = max(worst, 1 + left[s + 1] - left[s]), count + 1
        return worst, count

    worst, count = dearer(Fraction(1))
    renewal = 0.0
    thresholds = {}
    for gamma in (4, 8, 16, 32):
        for rate in (0.05, 0.3, 0.8):
            left = costs([rate] * 400, gamma, 0.05)
            tau = expected_tokens(rate, gamma)
            renewal = max(renewal, abs(left[0] - left[1] - (1 + gamma * 0.05) / tau))
        thresholds[gamma] = scipy.optimize.brentq(lambda a, g=gamma: expected_tokens(a, g) - 1 - 0.05 * g, 0.0, 1.0)
    require(renewal < 1e-6 and count > 100, "the cost of a token far from the end is not that of renewal theory")
    return holds_if(
        worst == 0,
        identity(
            f"{count} positions of {len(cases)} rows of rates that meet the assumptions, gamma = 1 to 4, c up to "
            "0.2, in rationals: pre-filling is never dearer",
        ),
        example(
            "with c = 0.05 and one rate throughout it is free up to alpha = "
            + ", ".join(f"{fmt(rate)} at gamma = {gamma}" for gamma, rate in thresholds.items())
            + f"; the cost of a token, 400 before the end, is (1 + gamma c) / tau within {renewal:.1g}",
            numbers(c=0.05, free_up_to=thresholds),
        ),
        *dearer_with_good_drafts(),
        rejects_mutants({"blocks half as fast again": Fraction(3, 2)}, lambda slack: dearer(slack)[0], "the cost"),
    )


def dearer_with_good_drafts() -> list[Evidence]:
    """Where pre-filling costs calls, since the drafts it replaces would have paid."""
    half = Fraction(1, 2)
    left, hopeless = costs([half, half], 1, Fraction(0)), costs([Fraction(0), Fraction(0)], 1, Fraction(0))
    without, prefilled = left[0], 1 + left[1]
    require((without, prefilled) == (Fraction(3, 2), 2), "not what it is by hand")
    require(1 + hopeless[1] <= hopeless[0], "a token that no draft replaces is seen to cost more")

    ledger = published()
    slower, speeds = falling(ledger, "speedup", "15"), {gamma: table(ledger, gamma, "speedup") for gamma in LENGTHS}
    same = ledger.altered({row[2].line: float(row[0].value) for row in speeds.values()})
    require(bool(slower) and not falling(same, "speedup", "15"), "Table 5 is read wrongly")
    require(not falling(ledger, "speedup", "5"), "5 % of pre-filled tokens cost something")
    return [
        example(
            "not whatever drafts are accepted: two tokens, gamma = 1, c = 0, alpha = 1/2: "
            f"{without} calls, {prefilled} with the first pre-filled",
            numbers(alpha=half, gamma=1, c=0, tokens=2, calls=without, calls_prefilled=prefilled),
        ),
        example(
            "CSpD's Table 5: with 5 % of pre-filled tokens, as the paper names them, the printed speedup is that of "
            f"none within rounding; with 15 % it falls at gamma = {', '.join(slower)} by more than rounding explains, "
            "and rises nowhere: "
            + "; ".join(f"gamma {g}: {', '.join(row.printed for row in rows)}" for g, rows in speeds.items()),
            numbers(speedup={g: [row.printed for row in rows] for g, rows in speeds.items()}),
        ),
    ]


# Batches -------------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "cspd.batch-cost",
    said(
        "4.2; App. C.1; Tables 1, 2",
        "Overall, as the batch size grows, the efficacy of speculative decoding becomes more evident. ... [Our] method "
        "shows better results on large batch size.",
        "formalised",
        "Results are read as speedups. The cause that C.1 gives, “increasing the batch size would reduce c”, is not "
        "decided: one cost ratio $c$ is printed, 0.38 at batch size 128, and others can only be inferred from the "
        "speedups that they are to explain.",
    ),
    "In each of the 16 rows of CSpD's Tables 1 and 2 the printed speedup rises with every larger batch size.",
)
def batch_cost(seed: int) -> Finding:
    r"""By the numbers as they are printed: from one batch size to the next the speedup rises in every row by more than
    rounding.

    What it says of $c$ hangs on a model. If the speedup is $n / (\gamma c + 1)$, as in eq. 51, and $n$, the tokens that
    a block commits in the mean, does not depend on the batch size, then $c = (n / S - 1) / \gamma$ falls exactly where
    the speedup $S$ rises, by construction. What $c$ is depends on $n$. If a block commits all its tokens, $n = \gamma$,
    one $c$ for all $\gamma$ of a model and a batch size describes the speedups, and it is near the 0.38 that the paper
    prints for MAR at batch size 128. With the $n$ of eq. 51 at the printed rates no $c \ge 0$ does
    (`published.cspd-walltime`).
    """

    def rising(ledger: Ledger) -> tuple[int, int]:
        """How many steps from a batch size to the next there are, and at how many the speedup does not rise."""
        steps = [
            later.interval.exceeds(sooner.interval)
            for row in by_batch(ledger).values()
            for sooner, later in pairwise(row)
        ]
        return len(steps), steps.count(False)

    ledger = published()
    rows = by_batch(ledger)
    slower = {row[1].line: float(row[0].value) for row in list(rows.values())[:1]}
    most, wrong = rising(ledger)
    models = grouped(chain.from_iterable(rows.values()), lambda row: f"{row.target}, {row.params['resolution']}")
    fits = {name: full_block_costs(model) for name, model in models.items()}
    falls = all(sooner > later for fit in fits.values() for sooner, later in pairwise(fit.values()))
    require(falls, "the costs of blocks that are always full do not fall")
    return holds_if(
        wrong == 0,
        identity(f"all {most} steps from a batch size to the next in {len(rows)} rows: the printed speedup rises"),
        example(
            "inferred from the speedups, c with blocks that are always full: "
            + "; ".join(
                f"{name}: " + ", ".join(f"{cost:.3f} at batch {batch}" for batch, cost in fit.items())
                for name, fit in fits.items()
            ),
            numbers(costs=fits),
        ),
        rejects_mutants(
            {"a speedup that does not rise": ledger.altered(slower)}, lambda table: rising(table)[1], "the speedups"
        ),
    )


def by_batch(ledger: Ledger) -> dict[str, list[Row]]:
    """The speedups of each row of Tables 1 and 2, from the smallest batch on."""
    rows = [row for row in ledger.select(paper="cspd", metric="speedup") if row.table in ("1", "2")]
    found = grouped(rows, lambda row: f"{row.target} {row.params['resolution']} {row.params['gamma']}")
    return {name: sorted(rows, key=lambda row: int(row.params["batch"])) for name, rows in found.items()}


def full_block_costs(rows: list[Row]) -> dict[int, float]:
    """By batch size the c that suits the speedups of a model best, if blocks of gamma tokens are always full."""
    found = {}
    for batch, column in grouped(rows, lambda row: row.params["batch"]).items():
        measured = [(float(row.value), int(row.params["gamma"])) for row in column]
        found[int(batch)] = best_cost(measured, [gamma for _, gamma in measured])[0]
    return found

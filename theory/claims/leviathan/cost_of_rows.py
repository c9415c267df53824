"""Claims about speedup where the cost of a call depends on its rows: equation 51 of CSpD for any batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise, product
from math import lcm
from typing import Any, NamedTuple

from simlab.arrays import Array
from simlab.decoders import Decoder, SpeculativeDecoder, make_decoder
from simlab.processes import Process, TableProcess
from simlab.rules import Speculative
from theory.acceptance import alpha, expected_tokens, speedup
from theory.claims.base import Claims, Finding
from theory.claims.evidence import enumeration, example, holds_if, identity, rejects_mutants
from theory.claims.format import fmt, numbers
from theory.claims.leviathan.speculative_rule import constant, two_processes
from theory.claims.proven import proven
from theory.claims.sources import derived
from theory.cost_of_rows import Cost, affine, best_draft_length, break_even_batch, speedup_by_rows
from theory.exact import mean, sequence_law, transitions
from theory.example_processes import random_process

CLAIMS = Claims("leviathan")
AFTER = "after CSpD, eq. 51"
NOTE = "Equation 51 counts calls of the target, and takes a call for one cost whatever its rows."

CLAIMS.summary(
    "leviathan.cost-of-rows",
    derived(AFTER, NOTE),
    r"Where a call of the target for $n$ rows takes $t(n)$, and $t(n)$ does not fall and $t(n)/n$ not rise in $n$, a "
    r"method with $r$ rows a sequence and $C \le r$ tokens a step is at batch $B$ at most $C$ and, drafting aside, at "
    r"least $C/r$ times as fast as plain decoding: it pays while rows are free, and never where they cost what they "
    r"cost alone.",
    [
        "leviathan.cost-of-rows.speedup",
        "leviathan.cost-of-rows.bounds",
        "leviathan.cost-of-rows.break-even",
        "leviathan.cost-of-rows.draft-length",
    ],
)

# The formula ------------------------------------------------------------------------------------------------------


class RowCounting(Process):
    """A process that notes how many rows a sequence each of its calls is asked for."""

    def __init__(self, process: Process) -> None:
        self.process, self.rows = process, list[int]()
        self.vocabulary, self.length, self.shape = process.vocabulary, process.length, process.shape
        self.uniform = process.uniform

    def _rows(self, tokens: Array, start: Array, count: int) -> Array:
        self.rows.append(count)
        return self.process.forward(tokens, start, count)

    def forward_tree(self, tokens: Array, start: Array, nodes: Array, paths: Array) -> Array:
        self.rows.append(1 + len(paths))
        return self.process.forward_tree(tokens, start, nodes, paths)


class Case(NamedTuple):
    """A decoder on a small process, and the rows that it asks for by the formula."""

    decoder: Decoder
    target: TableProcess
    draft: TableProcess | None
    rows: int
    drafts: int  # calls of the draft a step


def small_cases() -> list[Case]:
    """Decoders over context-dependent processes that are enumerated in no time."""
    found = []
    for k in range(2):
        target, draft = two_processes(k, 2, 4)
        found += [Case(SpeculativeDecoder(gamma), target, draft, gamma + 1, gamma) for gamma in (1, 2, 3)]
        found += [Case(make_decoder(name, window=2), target, None, 3, 0) for name in ("sjd", "sjd-ac")]
    tree = make_decoder("sjd-pac", window=2, candidates=2, depth=1, tree="comb")
    return [*found, Case(tree, random_process(0, 2, 3), None, 4, 0)]


class Setting(NamedTuple):
    """A case at a batch and a cost, with the law of its steps."""

    case: Case
    steps: Mapping[int, Fraction]
    batch: int
    cost: Cost

    @property
    def tokens(self) -> Any:
        """C: tokens of a sequence over the mean number of its steps."""
        return Fraction(self.case.target.length) / Fraction(mean(self.steps))


COSTS: dict[str, Cost] = {
    "constant": affine(Fraction(1), Fraction(0)),
    "affine": affine(Fraction(1), Fraction(1, 8)),
    "in proportion": affine(Fraction(0), Fraction(1)),
    "in tiles of four": lambda rows: Fraction(-(-rows // 4)),
}
BATCHES = (1, 4, 16)
DRAFT_SHARE = Fraction(1, 10)  # of what as many rows of the target cost


def plainly(at: Setting) -> Any:
    """What a sequence costs by plain decoding, a call a token, one of the batch in every call."""
    return at.case.target.length * at.cost(at.batch) / at.batch


def priced(case: Case, batch: int, cost: Cost) -> Any:
    """What a sequence costs in the mean, one of ``batch`` in every call: call by call, over all outcomes."""
    target, draft = RowCounting(case.target), None if case.draft is None else RowCounting(case.draft)
    whole: Any = Fraction(0)
    going: Any = Fraction(1)  # the probability that a step is taken at all
    for taken, outcomes in enumerate(transitions(case.decoder, target, Speculative(), draft)):
        if taken:
            # outcomes are followed in rounds, and every round calls alike: the target once
            rounds = len(target.rows)
            spent: Any = sum(cost(batch * rows) for rows in target.rows) / rounds
            spent += sum(DRAFT_SHARE * cost(batch * rows) for rows in draft.rows) / rounds if draft else 0
            whole += going * spent / batch
        target.rows.clear()
        if draft:
            draft.rows.clear()
        going = sum(
            (
                path.weight
                for states, paths in outcomes
                for length, path in zip(states.length.tolist(), paths, strict=True)
                if length < case.target.length
            ),
            Fraction(0),
        )
    return whole


def steps_of(case: Case) -> dict[int, Fraction]:
    """The law of the steps of a sequence."""
    return {k: Fraction(w) for k, w in sequence_law(case.decoder, case.target, Speculative(), case.draft)[1].items()}


def finished_a_call(steps: Mapping[int, Fraction]) -> float:
    """Sequences that one place finishes a call, in the long run: the renewal sequence itself, not its limit.

    The probability u(n) that one is finished at call n is the sum over k of P(S = k) u(n - k); steps that are always
    multiples of a number make it periodic, and it is averaged over a period.
    """
    renewed = [1.0]
    for n in range(1, 400):
        renewed.append(sum(float(weight) * renewed[n - k] for k, weight in steps.items() if k <= n))
    period = lcm(*steps)
    return sum(renewed[-period:]) / period


def idle_share(steps: Mapping[int, Fraction], batch: int) -> Fraction:
    """The share of places without a sequence where a batch waits for its last one: 1 - E[S]/E[max of B]."""
    most = Fraction(0)
    for k in range(max(steps)):
        most += 1 - sum((weight for s, weight in steps.items() if s <= k), Fraction(0)) ** batch
    return 1 - Fraction(mean(steps)) / most


@CLAIMS.claim(
    "leviathan.cost-of-rows.speedup",
    derived(AFTER, NOTE),
    r"Let a call of the target on $B$ sequences for $n$ rows take $t(n)$, and whatever else a step does $d$. Then a "
    r"decoder that asks $r$ rows a step of each of $B$ sequences, of $N$ tokens and $S$ steps, makes tokens "
    r"$C\, t(B)/(t(Br) + d)$ times as fast as plain decoding of $B$ sequences, where $C = N/\mathbb{E}[S]$.",
    assumptions=[
        "cost of rows: at one batch size the time of a call depends on its number of rows alone",
        "equal calls: every step asks the same rows of every sequence, the last step too",
        "full calls: a sequence that is over gives its place to another at once, so that every call has $B$ of them",
    ],
)
def speedup_is(seed: int) -> Finding:
    r"""By full calls each of the $B$ places holds one sequence after the other, of independent numbers of steps that
    are distributed like $S$. So the calls at which a place finishes a sequence are a renewal process, and by the
    renewal theorem it finishes $1/\mathbb{E}[S]$ sequences a call in the long run, which are $N/\mathbb{E}[S] = C$
    tokens; all places together finish $BC$ tokens a call. By equal calls and the cost of rows a call and what else
    its step does take $t(Br) + d$. Plain decoding is the case $r = 1$, $S = N$, $d = 0$: $B$ tokens in $t(B)$. The
    claim is the ratio of the two speeds. Nothing is assumed of acceptance.

    With a constant $t$ and $d = \gamma c t$, and $C = (1 - \alpha^{\gamma+1})/(1 - \alpha)$ of long sequences with
    i.i.d. acceptance, it is eq. 51. Where a batch waits for its last sequence instead, $\mathbb{E}[S]$ becomes the
    mean of the largest of $B$ numbers of steps, and the method is slower than the formula says.
    """
    cases = small_cases()
    laws = [steps_of(case) for case in cases]
    settings = [
        Setting(case, steps, batch, cost)
        for case, steps in zip(cases, laws, strict=True)
        for batch, cost in product(BATCHES, COSTS.values())
    ]
    exact = [plainly(at) / priced(at.case, at.batch, at.cost) for at in settings]

    def deviation(formula: Callable[[Setting], Any]) -> Any:
        """Between the cost of calls, followed one by one, and a formula for the speedup."""
        return max(abs(formula(at) - found) for at, found in zip(settings, exact, strict=True))

    def formula(at: Setting, rows: int = 0) -> Any:
        drafting = at.case.drafts * DRAFT_SHARE * at.cost(at.batch)
        return speedup_by_rows(at.tokens, rows or at.case.rows, at.batch, at.cost, drafting)

    def each_sequence(at: Setting) -> Any:
        """With the mean of tokens a step over sequences, which is not what a run of many makes a step."""
        tokens = sum(Fraction(at.case.target.length, k) * weight for k, weight in at.steps.items())
        return formula(at) * tokens / at.tokens

    worst = deviation(formula)
    renewal = max(abs(finished_a_call(steps) - 1 / float(mean(steps))) for steps in laws)
    constant = max(_off_equation_51(Fraction(k, 8), gamma) for k in range(9) for gamma in (1, 2, 4, 8))
    return holds_if(
        worst == 0 and constant == 0 and renewal < 1e-9,
        enumeration(
            f"cost of calls that are followed one by one, over all outcomes, in rationals: {len(cases)} decoders and "
            "context-dependent processes (speculative, sjd, sjd-ac, sjd-pac), batches "
            f"{', '.join(map(str, BATCHES))}, costs {', '.join(COSTS)}; largest difference from the formula "
            f"{fmt(worst)}",
        ),
        enumeration(f"sequences finished a call after 400 calls, by the renewal equation, are 1/E[S] to {renewal:.1g}"),
        identity(
            f"with a constant cost and i.i.d. acceptance it is eq. 51 in rationals: alpha in eighths, gamma = 1, 2, 4, "
            f"8, two ratios c (largest difference {fmt(constant)})"
        ),
        _example(),
        rejects_mutants(
            {
                "a row less, none for the token after the drafts": lambda at: formula(at, at.case.rows - 1),
                "eq. 51, one row whatever is verified": lambda at: formula(at, 1),
                "the mean of tokens a step over sequences": each_sequence,
            },
            deviation,
            "the cost",
        ),
    )


def _off_equation_51(rate: Fraction, gamma: int) -> Any:
    """How far the formula is from equation 51 where a call costs 3 whatever its rows."""
    tokens, cost = expected_tokens(rate, gamma), affine(Fraction(3), Fraction(0))
    off: list[Any] = [
        speedup_by_rows(tokens, gamma + 1, batch, cost, gamma * c * 3) - speedup(rate, gamma, c)
        for batch in BATCHES
        for c in (Fraction(0), Fraction(1, 3))
    ]
    return max(map(abs, off))


def _example() -> Any:
    """Drafts accepted 3 times out of 4: the speedup at several batches, and what a batch loses by waiting."""
    p, q, gamma, length = (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 2)), 3, 6
    steps = steps_of(Case(SpeculativeDecoder(gamma), constant(p, length), constant(q, length), gamma + 1, gamma))
    tokens, cost = Fraction(length) / mean(steps), affine(Fraction(1), Fraction(1, 16))
    fast = {b: speedup_by_rows(tokens, gamma + 1, b, cost, gamma * DRAFT_SHARE * cost(b)) for b in (1, 4, 16, 64)}
    idle = {batch: float(idle_share(steps, batch)) for batch in fast}
    return example(
        f"alpha = {fmt(alpha(p, q))}, gamma = {gamma}, {length} tokens, t(n) = 1 + n/16, a draft a tenth of that: "
        f"{float(tokens):.3f} tokens a step, a speedup of "
        + ", ".join(f"{float(s):.3f} at batch {b}" for b, s in fast.items())
        + "; places that are empty where a batch waits for its last: "
        + ", ".join(f"{share:.1%}" for share in idle.values()),
        numbers(
            alpha=alpha(p, q), gamma=gamma, length=length, fixed=1, per_row=Fraction(1, 16), draft_share=DRAFT_SHARE,
            tokens=tokens, speedup=fast, idle=idle,
        ),
    )  # fmt: skip


# What it can be ---------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "leviathan.cost-of-rows.bounds",
    derived(AFTER, NOTE),
    r"Let $t(n) > 0$ not fall and $t(n)/n$ not rise in the number $n$ of rows. Then for $1 \le C \le r$ the speedup "
    r"$C\, t(B)/t(Br)$ lies between $C/r$, which a cost in proportion to rows reaches, and $C$, which a constant cost "
    r"reaches; so where every row costs the same, no method with $C \le r$ is faster than plain decoding.",
)
def bounds(seed: int) -> Finding:
    r"""Since $t$ does not fall, $t(Br) \ge t(B)$, and the speedup is at most $C$; with a constant $t$ it is $C$.
    Since $t(n)/n$ does not rise, $t(Br)/(Br) \le t(B)/B$, so $t(Br) \le r\, t(B)$ and the speedup is at least $C/r$;
    with $t$ in proportion to $n$ it is $C/r \le 1$. A step commits at most as many tokens as it has rows, each from a
    row of its own, so $C \le r$ for every decoder; drafting only adds to the cost.
    """
    tokens, rows = Fraction(39, 10), 33
    curves = {"constant": affine(1, 0), "affine": affine(1, Fraction(1, 32)), "in proportion": affine(0, 1)}
    shown = {
        name: {b: speedup_by_rows(tokens, rows, b, cost) for b in (1, 16, 64, 4096)} for name, cost in curves.items()
    }
    reached = set(shown["in proportion"].values()), set(shown["constant"].values())
    return holds_if(
        proven("leviathan.cost-of-rows.bounds") and reached == ({tokens / rows}, {tokens}),
        example(
            "C = 3.9 tokens a step from r = 33 rows, at batch 1, 16, 64, 4096: "
            + "; ".join(f"{name} {', '.join(f'{float(s):.3f}' for s in row.values())}" for name, row in shown.items())
            + f" (C/r = {float(tokens / rows):.3f})",
            numbers(tokens=tokens, rows=rows, affine=[1, Fraction(1, 32)], speedup=shown),
        ),
    )


# Where it stops paying --------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "leviathan.cost-of-rows.break-even",
    derived(AFTER, NOTE),
    r"Let a call on $B$ sequences for $n$ rows take $a + sB + bn$, and what else a step does $e + fB$. Then a method "
    r"of $C$ tokens from $r$ rows a step is faster than plain decoding exactly at the batches $B$ with "
    r"$B\, (b (r - C) + f - s (C - 1)) < (C - 1) a - e$.",
)
def break_even(seed: int) -> Finding:
    r"""The speedup $C (a + sB + bB)/(a + sB + bBr + e + fB)$ exceeds 1 exactly if $C (a + sB + bB) > a + sB + bBr + e +
    fB$, that is $(C - 1) a - e > B (b (r - C) + f - s (C - 1))$. Where the factor of $B$ is positive, divide by it: the
    method pays below one batch. Where it is not, as where much is read for each sequence (long keys and values) and
    rows are cheap, a method that pays at one image pays at every batch.
    """
    tokens, rows, a, b = Fraction(39, 10), 33, Fraction(1), Fraction(1, 20)
    methods = [(tokens, rows), (Fraction(7, 2), 17), (Fraction(5, 2), 5)]
    limits = [break_even_batch(*method, a, b) for method in methods]
    read = [break_even_batch(*method, a, b, per_sequence=Fraction(1, 20)) for method in methods]
    said = ", ".join(
        f"{float(c):g} tokens from {r} rows below {float(e):.2f}" for (c, r), e in zip(methods, limits, strict=True)
    )
    cost = affine(a, b)
    pays = [[speedup_by_rows(*each, at, cost) > 1 for at in range(1, 40)] for each in methods]
    return holds_if(
        proven("leviathan.cost-of-rows.break-even")
        and pays == [[at < limit for at in range(1, 40)] for limit in limits],
        example(
            f"a = 1, b = 1/20, nothing else: pay {said}; with s = 1/20 below "
            + ", ".join(f"{float(each):.2f}" for each in read),
            numbers(
                fixed=a, per_row=b, tokens=[c for c, _ in methods], rows=[r for _, r in methods],
                batch=limits, batch_with_sequences=read, per_sequence=Fraction(1, 20),
            ),
        ),
    )  # fmt: skip


# How much to draft ------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "leviathan.cost-of-rows.draft-length",
    derived(AFTER, NOTE),
    r"Let drafts be accepted independently with probability $\alpha$, a call for $n$ rows take $a + bn$ and a draft "
    r"for $B$ sequences $e + fB$, with $a, b, e, f \ge 0$, $\alpha < 1$ and $bB + e + fB > 0$. Then the shortest draft "
    r"length $\gamma \ge 0$ of the largest speedup does not grow with the batch $B$.",
)
def draft_length(seed: int) -> Finding:
    r"""One draft more costs something, and less and less comes of it, so that there is a best length. Let $g(\gamma) =
    1 + \alpha + \dots + \alpha^{\gamma}$ and $k(\gamma) = a + b B (\gamma + 1) + \gamma (e + f B)$; the speedup is in
    proportion to $g/k$. One draft more pays exactly if $\Delta(\gamma) = \alpha^{\gamma+1} k(\gamma) - g(\gamma) (b B +
    e + f B) > 0$. From $\gamma$ to $\gamma + 1$ it falls: $\Delta(\gamma + 1) - \Delta(\gamma) = (\alpha - 1)
    \alpha^{\gamma+1} (k(\gamma) + b B + e + f B) \le 0$. So the shortest best length is the first $\gamma$ at which one
    draft more does not pay. In $B$, $\Delta(\gamma)$ is $\alpha^{\gamma+1} (a + \gamma e) - g e$ less $B$ times $g (b +
    f) - \alpha^{\gamma+1} (b (\gamma + 1) + f \gamma)$. The latter is not negative, since $g \ge (\gamma + 1)
    \alpha^{\gamma} \ge (\gamma + 1) \alpha^{\gamma+1}$. So where one draft more does not pay at a batch, it does not at
    a larger one.
    """
    most = 24
    rate, batches = Fraction(4, 5), (1, 4, 16, 64, 256)
    best = {b: best_draft_length(rate, b, affine(Fraction(1), Fraction(1, 64)), Fraction(1, 20), most) for b in batches}
    return holds_if(
        proven("leviathan.cost-of-rows.draft-length") and all(a >= b for a, b in pairwise(best.values())),
        example(
            "alpha = 0.8, t(n) = 1 + n/64, a draft 1/20: best lengths "
            + ", ".join(f"{gamma} at batch {batch}" for batch, gamma in best.items()),
            numbers(alpha=rate, fixed=1, per_row=Fraction(1, 64), draft=Fraction(1, 20), most=most, best=best),
        ),
    )

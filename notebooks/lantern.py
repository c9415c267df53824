# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # LANTERN
#
# "LANTERN: accelerating visual autoregressive models with relaxed speculative decoding" accepts a drafted token $x$
# with the mass of its neighbourhood in the codebook. The paper writes $q$ for the target and $p$ for the draft; here,
# as everywhere in this workbench, $p$ is the target and $q$ the draft:
#
# $$a(x) = \min\left(1, \frac{P(A)}{q(x)}\right), \qquad P(A) = \sum_{y \in A} p(y),$$
#
# where $A = A(x)$ holds $x$ and those of its nearest tokens that a bound $\delta$ lets join. After a rejection it draws
# from $[p_A(\cdot \mid x) - q]_+$, where $p_A(\cdot \mid x)$ is $p$ with the mass of $A$ moved to $x$. This notebook
# shows, in exact rational arithmetic:
#
# 1. the rule and its neighbourhood, by hand;
# 2. what the bound $\delta$ bounds: the target that *one* drafted token is compared with;
# 3. what it does not bound: the law of a token that comes out, nor that of a sequence;
# 4. a theorem: the acceptance LANTERN gains equals the TV it spends, for every neighbourhood; and what this says about
#    the paper's Table 2;
# 5. where the rule is lossless;
# 6. the Jensen-Shannon bound against the TV bound: a matter of units;
# 7. nearest against random neighbours, in acceptance and in the distance over which mass moves;
# 8. the multiplicative bound of LANTERN++, which does bound the output;
# 9. temperature 0;
# 10. the variants of the published code.
#
# Every number in the text is asserted in the cell below it. Statements and ids are those of `simlab claims`; the
# frontier used in part 4 is proven in the notebook on the base rule.

# %%
from fractions import Fraction as F
from itertools import pairwise, product
from math import log
from random import Random

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import display

from experiments.exploring import report_assertions
from simlab.decoders import make_decoder
from simlab.processes import TableProcess
from simlab.processes.processors import tempered
from simlab.rules import codebook_distances, codebook_neighbours, make_rule
from simlab.rules.lantern import moved_js
from theory.acceptance import alpha, nearest_frontier
from theory.candidates import candidates_law
from theory.claims import find
from theory.distances import aligned, js, tv, wasserstein1
from theory.exact import acceptance, sequence_law, step_law, target_law
from theory.example_processes import codebook_pairs, random_row
from theory.search import relaxed_pairs, smallest_violation

sns.set_theme(style="whitegrid", palette="colorblind")
pd.set_option("display.max_colwidth", None)
report_assertions()  # change what you like: an assertion that then fails says so, and the cell goes on
speculative = make_rule("speculative")


def row(text):
    """A rational pmf written as text: "1/2 1/3 1/6"."""
    return tuple(map(F, text.split()))


def lantern(neighbours, delta, bound="tv"):
    return make_rule("lantern", neighbours=neighbours, delta=delta, bound=bound)


def each(p):
    """The row p once for every token that could have been drafted, and these tokens."""
    return np.array([p] * len(p), dtype=object), np.arange(len(p))


def moved(rule, p):
    """m(x): the mass that moves to each token x, if it is drafted."""
    joined, masses = rule.joined_rows(*each(p))
    return (masses * joined).sum(axis=1)


names = ["relaxation", "monotone", "conditional-bound", "output-bound", "output-bound.sum", "frontier", "zero-delta"]
names += [
    "largest",
    "support",
    "gain",
    "metric",
    "jsd",
    "neighbours",
    "neighbours.distance",
    "quality-of-near",
    "greedy",
]
claims = [f"lantern.{name}" for name in names]
claims += [f"lantern-reference.{name}" for name in ("dynamic", "static", "multiplicative", "codebook")]
pd.DataFrame(
    [(c.source.where, c.statement) for c in map(find, claims)],
    index=pd.Index(claims, name="claim"),
    columns=["where", "statement"],
)

# %% [markdown]
# ## 1. The rule
#
# Every token $x$ has a list of neighbours, nearest first. They join $A$ one by one while the mass $m$ that would move
# to $x$ stays *below* $\delta$. The first that would reach $\delta$ ends it: it is not skipped in favour of a later,
# smaller one. The conditional target is
#
# $$p_A(y \mid x) = \begin{cases} P(A) & y = x \\ 0 & y \in A,\; y \ne x \\ p(y) & \text{otherwise.} \end{cases}$$
#
# **By hand.** Four tokens on a line, neighbours by distance (of equals the left one first), $\delta = \frac14$,
# $p = (\frac1{10}, \frac1{10}, \frac3{10}, \frac5{10})$, $q = (\frac5{10}, \frac1{10}, \frac2{10}, \frac2{10})$.
#
# * $A(0)$: token 1 joins with $\frac1{10}$; token 2 would make it $\frac4{10} \ge \frac14$. So $A = \{0, 1\}$ and
#   $P(A) = \frac15$. Draft 0 is accepted with $\frac15 / \frac12 = \frac25$, where speculative sampling accepts it with
#   $\frac15$.
# * $A(1) = \{0, 1\}$, $A(2) = \{1, 2\}$. Next for token 2 is 3, which would make it $\frac6{10}$; 0, which would fit,
#   comes after it and does not join. $A(3) = \{3\}$. These three have $p \ge q$ and are accepted in any case.
# * Acceptance is $\frac12 \cdot \frac25 + \frac1{10} + \frac2{10} + \frac2{10} = \frac7{10}$, against $\frac6{10}$.
# * A rejected draft is a 0 (mass $\frac3{10}$). $p_A(\cdot \mid 0) = (\frac15, 0, \frac3{10}, \frac12)$, so the
#   residual is $[-\frac3{10}, -\frac1{10}, \frac1{10}, \frac3{10}]_+ = (0, 0, \frac14, \frac34)$.
# * Law: $(\frac{8}{40}, \frac{4}{40}, \frac{11}{40}, \frac{17}{40})$, where the target has $(\frac{4}{40}, \frac4{40},
#   \frac{12}{40}, \frac{20}{40})$. TV is $\frac1{10}$: as much as the acceptance gained. That is no accident (part 4).
#
# Note who pays. Token 0 comes out too often by $\frac1{10}$, on the strength of its neighbour 1; but token 1 loses
# nothing. What is missing is missing at tokens 2 and 3, wherever $p > q$.

# %%
line = [[1, 2, 3], [0, 2, 3], [1, 3, 0], [2, 1, 0]]
p, q = row("1/10 1/10 3/10 5/10"), row("5/10 1/10 2/10 2/10")
rule = lantern(line, F(1, 4))
joined, _ = rule.joined_rows(*each(p))
nearby = [{x, *(y for y, inside in zip(line[x], joined[x], strict=True) if inside)} for x in range(4)]

assert nearby == [{0, 1}, {0, 1}, {1, 2}, {3}]
assert [rule.accept(p, q, x) for x in range(4)] == [F(2, 5), 1, 1, 1]
assert speculative.accept(p, q, 0) == F(1, 5)
assert (acceptance(rule, p, q), alpha(p, q)) == (F(7, 10), F(6, 10))
assert tuple(rule.conditional_rows(*each(p))[0]) == row("1/5 0 3/10 1/2")
assert tuple(rule.residual(p, q, 0)) == row("0 0 1/4 3/4")
law = step_law(rule, p, q)
assert tuple(law) == row("8/40 4/40 11/40 17/40")
assert tv(law, p) == F(1, 10)

# %%
figure, axis = plt.subplots(figsize=(8.5, 3.6))
given = rule.conditional_rows(*each(p))[0]
shown = {"target $p$": p, "draft $q$": q, r"$p_A(\cdot \mid 0)$": given, "what comes out": law}
for k, (name, masses) in enumerate(shown.items()):
    axis.bar(np.arange(4) + 0.2 * (k - 1.5), [float(m) for m in masses], 0.18, label=name)
axis.set(title="One step of LANTERN", xlabel="token", ylabel="probability", xticks=range(4), ylim=(0, 0.6))
axis.legend(ncols=4, loc="upper center", fontsize=9)
axis.grid(visible=False, axis="x")
figure.tight_layout()

# %% [markdown]
# ## 2. What is bounded · `lantern.relaxation`, `lantern.monotone`, `lantern.conditional-bound`

# %%
display(find("lantern.relaxation"), find("lantern.monotone"), find("lantern.conditional-bound"))

# %% [markdown]
# All three on 120 pairs of rows with lists in random order, cut anywhere. If the neighbour that reaches $\delta$ may
# join as well, as a `<=` in place of `<` lets it, the bound is not respected.

# %%
random = Random(0)
cases = []
for k in range(120):
    size = 3 + k % 4
    lists = [random.sample([y for y in range(size) if y != x], random.randrange(size)) for x in range(size)]
    cases.append((random_row(random, size), random_row(random, size), lists, F(random.randint(1, 10), 10)))

for p, q, lists, delta in cases:
    rule = lantern(lists, delta)
    rows, drafted = each(p)
    drafts = np.array([q] * len(q), dtype=object)
    assert (rule.accept(rows, drafts, drafted) >= speculative.accept(rows, drafts, drafted)).all()
    assert (tv(rule.conditional_rows(rows, drafted), rows) == moved(rule, p)).all()
    assert (moved(rule, p) < delta).all()
    longer = [acceptance(lantern([near[:k] for near in lists], delta), p, q) for k in range(len(p))]
    larger = [acceptance(lantern(lists, F(k, 10)), p, q) for k in range(11)]
    assert all(a <= b for a, b in [*pairwise(longer), *pairwise(larger)])

# the check is no formality: rows in which a neighbour has exactly delta tell < from <=
assert moved(lantern([[1], [0]], F(1, 2)), row("1/2 1/2")).tolist() == [0, 0]
assert moved(lantern([[1], [0]], F(51, 100)), row("1/2 1/2")).tolist() == [F(1, 2), F(1, 2)]

# %% [markdown]
# ## 3. What is not · `lantern.output-bound`
#
# A bound on total variation, says the paper, "ensures that the deviation remains controlled". So it does: what comes
# out is as far from the target as $\delta$ lets it be, from nothing on (`lantern.output-bound.sum`, **holds**). But it
# is not within $\delta$ itself, a single token already (`.step`, **refuted**, and stronger than what the paper says):
# each drafted token is compared with a target of its own, and what comes out collects what all of them were given.
#
# **Three tokens** (`lantern.output-bound.step`). $p = (\frac14, \frac14, \frac12)$, $q = (\frac12, \frac12, 0)$, tokens
# 0 and 1 neighbours of each other, $\delta = \frac3{10}$. The neighbour's $\frac14$ is below $\delta$ and joins; so
# $P(A) = \frac12 = q$ for both, and every draft is accepted. What comes out is $q$, at TV $\frac12$. The same quarter
# is lent twice: by 1 to 0 and by 0 to 1.
#
# **As far as one likes.** $p$ uniform over $n$ tokens, $q$ uniform over $n'$ of them, each of which has
# $\frac{n}{n'} - 1$ undrafted neighbours of its own. All of them join if $\delta > \frac1{n'} - \frac1n$; then
# $P(A) = \frac1{n'} = q$, every draft is accepted, and the law is $q$, at TV $1 - \frac{n'}n$. With $n = 100$, $n' =
# 10$ and $\delta = 0.1$: TV 0.9.

# %%
p, q, lists, delta = row("1/4 1/4 1/2"), row("1/2 1/2 0"), [[1], [0], []], F(3, 10)
assert acceptance(lantern(lists, delta), p, q) == 1
assert tuple(step_law(lantern(lists, delta), p, q)) == q
assert tv(q, p) == F(1, 2) > delta


def flat(n, drafted):
    """p uniform over n tokens, q over the first; each of these has as many neighbours of its own."""
    share = n // drafted
    lists = [range(drafted + x * (share - 1), drafted + (x + 1) * (share - 1)) for x in range(drafted)]
    p, q = np.full(n, 1 / n), np.where(np.arange(n) < drafted, 1 / drafted, 0.0)
    return p, q, [*map(list, lists), *[[]] * (n - drafted)]


spent = {}
for drafted in (50, 25, 20, 10, 5, 4, 2):
    p, q, lists = flat(100, drafted)
    rule = lantern(lists, 1 / drafted)
    assert np.isclose(acceptance(rule, p, q), 1)
    spent[1 / drafted] = tv(step_law(rule, p, q), p)
    assert np.isclose(spent[1 / drafted], 1 - drafted / 100)
assert np.isclose(spent[0.1], 0.9)

# %%
figure, axis = plt.subplots(figsize=(6, 3.8))
axis.plot(list(spent), list(spent.values()), "o-", color="C1", label="what comes out, 100 tokens")
axis.plot([0, 0.5], [0, 0.5], color="0.4", linewidth=1, label=r"the bound $\delta$")
axis.set(title="TV of one emitted token to the target", xlabel=r"$\delta$", ylabel="TV", ylim=(0, 1.05))
axis.legend()
figure.tight_layout()

# %% [markdown]
# **Sequences** (`lantern.output-bound.sequence`). Where one token is within $\delta$, a sequence need not be. Tokens
# that depend on nothing, $p = (\frac12, \frac12)$, $q = (1, 0)$, $\delta = \frac35$: draft 0 is accepted with
# $P(A) = 1$, at TV $\frac12 < \delta$. With one draft a block every other token is a bonus and exact, and a sequence of
# $N$ tokens has $\lceil N/2 \rceil$ sure zeros: TV $\frac12, \frac12, \frac34, \frac34, \frac78$ for $N = 1, \dots, 5$.
#
# **What holds** (`lantern.output-bound.sum`): one token is within $\sum_x \min(q(x), m(x))$ of $p$. That is below
# $\delta$ if a single token can be drafted, and in general below $\delta$ times the number of tokens that can.

# %%
p, q, rule = row("1/2 1/2"), row("1 0"), lantern([[1], [0]], F(3, 5))
off = []
for n in range(1, 6):
    target, draft = (TableProcess(2, n, lambda prefix, r=r: r) for r in (p, q))
    law, _ = sequence_law(make_decoder("speculative", gamma=1), target, rule, draft)
    off.append(tv(*aligned(law, target_law(target))))
assert off == [F(1, 2), F(1, 2), F(3, 4), F(3, 4), F(7, 8)]
assert off[0] < F(3, 5) < off[2]

for p, q, lists, delta in cases:
    rule = lantern(lists, delta)
    limit = sum(min(drafted, more) for drafted, more in zip(q, moved(rule, p), strict=True))
    assert tv(step_law(rule, p, q), p) <= limit < delta * sum(mass > 0 for mass in q)

# %% [markdown]
# ## 4. The theorem: acceptance gained is TV spent · `lantern.frontier`
#
# Not in the paper: LANTERN always reaches the frontier of the base rule, that no rule with one candidate gains more
# acceptance than it spends TV. It distorts no more than a rule must that accepts as often.

# %%
find("lantern.frontier")

# %% [markdown]
# Nothing was used of $A$ but that it holds $x$. The sum bound of part 3 follows: a term of
# $\sum_x \min(q, p + m) - \min(q, p)$ is at most $\min(q, m)$.
#
# The cell checks every step of the proof on the cases of part 2, in TV, in JSD and with a factor.

# %%
kinds = {
    "TV": lambda lists, delta: lantern(lists, delta),
    "JSD": lambda lists, delta: lantern(lists, delta, "jsd"),
    "factor": lambda lists, delta: make_rule("lantern-multiplicative", neighbours=lists, factor=1 + 2 * delta),
}
for make, (p, q, lists, delta) in product(kinds.values(), cases):
    rule = make(lists, delta)
    given = rule.conditional_rows(*each(p))
    size, law = range(len(p)), step_law(rule, p, q)
    e = [max(q[x] - given[x][x], 0) for x in size]
    for x in size:
        if e[x] > 0:
            rest = [max(given[x][y] - q[y], 0) for y in size]
            assert all(rest[y] == 0 for y in size if q[y] > p[y])  # never in a residual
            assert sum(rest) >= sum(e)  # Z >= R
    assert all(law[y] == min(q[y], given[y][y]) >= p[y] for y in size if q[y] > p[y])  # never in a residual
    assert all(law[y] <= p[y] for y in size if p[y] >= q[y])  # never more often than p
    assert tv(law, p) == acceptance(rule, p, q) - alpha(p, q)  # TV is the acceptance gained


def off_line(make):
    """Whether a rule's TV is not what it gains, on an example p, q, lists, delta."""
    return lambda e: tv(step_law(make(e), e[0], e[1]), e[0]) != acceptance(make(e), e[0], e[1]) - alpha(e[0], e[1])


def point_mass(x, size):
    return tuple(F(int(y == x)) for y in range(size))


def reference(e):
    """The same for the variant of part 10, which is made for drafts that are point masses."""
    rule = make_rule("lantern-reference", neighbours=e[2], delta=e[3])
    return any(off_line(lambda _: rule)((e[0], point_mass(x, len(e[0])))) for x in range(len(e[0])))


quick = {"seed": 0, "levels": ((2, 1), (3, 2), (4, 4)), "tries": 60}
assert smallest_violation(relaxed_pairs, off_line(lambda e: lantern(e[2], e[3])), **quick) is None
assert smallest_violation(relaxed_pairs, reference, **quick) is not None

# %% [markdown]
# The same cases as a picture, with drafts that are point masses: LANTERN, and the variant of part 10, whose residual
# leaves out all listed neighbours, also those that did not join. LANTERN is on the line in every case; the variant
# gains as much, or more where a neighbour just reaches the bound, and spends more than it gains in some.

# %%
points = pd.DataFrame(
    [
        (name, float(tv(step_law(rule, p, q), p)), float(acceptance(rule, p, q) - alpha(p, q)))
        for p, _, lists, delta in cases[:60]
        for q in (point_mass(x, len(p)) for x in range(len(p)))
        for name, rule in (
            ("LANTERN", lantern(lists, delta)),
            ("residual without all neighbours", make_rule("lantern-reference", neighbours=lists, delta=delta)),
        )
    ],
    columns=["rule", "spent", "gained"],
)
grid = sns.relplot(points, x="spent", y="gained", col="rule", height=3.2, s=24, linewidth=0.3, alpha=0.7)
grid.set_titles("{col_name}")
grid.set_axis_labels("TV spent", r"acceptance $- \alpha$")
for axis in grid.axes.flat:
    axis.axline((0, 0), slope=1, color="C1", zorder=0)

by_rule = dict(list(points.groupby("rule")))
exact, variant = by_rule["LANTERN"], by_rule["residual without all neighbours"]
assert np.allclose(exact.gained, exact.spent)
assert (variant.gained.to_numpy() >= exact.gained.to_numpy()).all()
assert (variant.spent > variant.gained - 1e-12).all()
assert (variant.spent > variant.gained + 0.01).any()

# %% [markdown]
# **What this says about Table 2.** The paper reports mean accept probabilities of the first drafted token: 0.0402
# without relaxation, and, at $k = 1000$, 0.0786, 0.1186, 0.2 and 0.3657 for $\delta = 0.05$, 0.1, 0.2 and 0.4. By the
# theorem the gains, 0.0384, 0.0784, 0.1598 and 0.3255, *are* the mean TV of that token. They are below $\delta$ in
# all four columns, though for drafts drawn from $q$ no bound forces it. The caveats:
#
# * it holds if the drafts are drawn from the $q$ they are scored with, and the residual is the paper's;
# * lossless and relaxed runs visit different contexts; the difference of their means is a gain only if these are alike;
# * it is about one token. Over the hundreds of tokens of an image the TVs add up, as in part 3.
#
# And one more, which makes the numbers less surprising. EAGLE-2, the drafter of the table, offers its likeliest tokens,
# and the published code scores them with $q = 1$. For such a point mass on $x$ the gain is
# $P(A) - p(x) = m(x) < \delta$: then the bound on $m$ does bound the gain, and the TV as well where the residual is the
# paper's.

# %%
table_2 = {0.05: 0.0786, 0.1: 0.1186, 0.2: 0.2000, 0.4: 0.3657}
gains = {delta: round(rate - 0.0402, 4) for delta, rate in table_2.items()}
assert list(gains.values()) == [0.0384, 0.0784, 0.1598, 0.3255]
assert all(gain < delta for delta, gain in gains.items())

for p, _, lists, delta in cases:
    rule = lantern(lists, delta)
    for x, m in enumerate(moved(rule, p)):
        point = point_mass(x, len(p))
        assert acceptance(rule, p, point) - alpha(p, point) == m == tv(step_law(rule, p, point), p) < delta

# %% [markdown]
# ## 5. Where it is lossless · `lantern.zero-delta`

# %%
find("lantern.zero-delta")

# %%
zeros = 0
for p, q, lists, _ in cases:
    tried = [lantern(lists, delta) for delta in (0, min(mass for mass in p if mass > 0))]
    tried += [make_rule("lantern-multiplicative", neighbours=lists, factor=1)]
    zeros += 0 in p
    for rule in tried:
        assert tuple(step_law(rule, p, q)) == p
        assert acceptance(rule, p, q) == alpha(p, q)
assert zeros > len(cases) / 2

# %% [markdown]
# ## 6. Jensen-Shannon · `lantern.jsd`
#
# The paper also bounds the Jensen-Shannon divergence, and finds that "JSD with $\delta = 0.2$ results in a performance
# that achieves between TVD with $\delta = 0.2$ and with $\delta = 0.4$". In bits this is a theorem about the
# neighbourhoods.

# %%
find("lantern.jsd.bits")

# %% [markdown]
# **In nats** (`lantern.jsd.nats`, **refuted**), as numerical libraries give it, everything is $\log 2$ times that, and
# a bound $\delta$ admits $m$ up to $2\delta/\log 2 = 2.89\,\delta$. $p = (\frac34, \frac14)$, $x = 0$: $m = \frac14$
# moves, and JS is 0.0956 nats. A bound of $\frac1{10}$ in nats lets it join; TV $2\delta = \frac15$ does not.
#
# **The root** (`lantern.jsd.root`, **refuted**), the Jensen-Shannon *distance*: $p = (0, \frac1{10}, \frac9{10})$,
# $x = 0$: $m = \frac1{10}$ is well below $\delta = \frac15$, and the distance is 0.263 (from nats).


# %%
def divergence(m, a):
    """JS of p_A to p in nats, by the formula."""
    return moved_js(np.float64(m), np.float64(a))


for p, _, lists, delta in cases[:40]:
    rule = lantern(lists, delta)
    rows, drafted = each(p)
    direct = js(rule.conditional_rows(rows, drafted), rows)
    assert np.allclose(direct, [divergence(m, a) for m, a in zip(moved(rule, p), p, strict=True)], atol=1e-12)


def sizes(p, lists, delta, bound):
    return lantern(lists, delta, bound).joined_rows(*each(p))[0].sum(axis=1)


def between(p, lists, delta, bound):
    """Whether the neighbourhood of ``bound`` holds that of TV delta, and lies in that of TV 2 delta."""
    inner, middle = sizes(p, lists, delta, "tv"), sizes(p, lists, delta, bound)
    outer = sizes(p, lists, min(2 * delta, 1), "tv")
    return (inner <= middle).all(), 2 * delta > 1 or (middle <= outer).all()


assert all(between(p, lists, delta, "jsd-bits") == (True, True) for p, _, lists, delta in cases)
assert all(between(p, lists, delta, "jsd")[0] for p, _, lists, delta in cases)
assert between(row("3/4 1/4"), [[1], [0]], F(1, 10), "jsd") == (True, False)
assert not between(row("0 1/10 9/10"), [[1], [], []], F(1, 5), "jsd-root")[0]
assert round(2 / log(2), 2) == 2.89
assert round(float(divergence(1 / 4, 3 / 4)), 4) == 0.0956
assert round(float(divergence(1 / 10, 0)) ** 0.5, 3) == 0.263

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9))
own = np.linspace(0, 0.98, 200)
for k, m in enumerate((0.02, 0.1, 0.3)):
    inside = own[own + m <= 1]
    left.plot(inside, divergence(m, inside) / log(2) / m, color=f"C{k}", label=f"m = {m}")
left.axhspan(0.5, 1, color="0.9", zorder=0)
left.set(title="JS in bits, in units of the mass moved", xlabel="p(x)", ylabel="JS / m", ylim=(0.4, 1.05))
left.legend()
masses = np.linspace(1e-4, 1, 2000)
deltas = np.linspace(0.02, 0.45, 40)
units = {
    "JSD in nats": lambda m, a: divergence(m, a),
    "JSD in bits": lambda m, a: divergence(m, a) / log(2),
    "root of nats": lambda m, a: np.sqrt(divergence(m, a)),
}
for k, (name, of) in enumerate(units.items()):
    most, least = (
        np.array([masses[of(masses, a) < d].max() for d in deltas]) for a in (np.maximum(1 - masses, 0), 0 * masses)
    )
    right.fill_between(deltas, least, most, alpha=0.35, color=f"C{k}", label=name)
    if name == "JSD in bits":
        assert (least > deltas - 1e-3).all()
        assert (most < 2 * deltas).all()
    if name == "JSD in nats":
        assert (most > 2 * deltas)[deltas < 0.3].all()
    if name == "root of nats":
        assert (most < deltas)[deltas < 0.3].all()
right.plot(deltas, deltas, color="0.3", linewidth=1, label=r"TV $\delta$ and $2\delta$")
right.plot(deltas, 2 * deltas, color="0.3", linewidth=1)
right.set(title="Mass that may move at a bound", xlabel=r"$\delta$", ylabel="m", ylim=(0, 1))
right.legend(loc="upper left")
figure.tight_layout()

# %% [markdown]
# On the right each band runs from $p(x) = 0$ (its lower edge) to a token and neighbours that have all the mass together
# (its upper edge). The band of bits stays between the two lines of TV; for $\delta < 0.3$ that of nats reaches above
# both, and that of the root lies below both.

# %% [markdown]
# ## 7. Near tokens · `lantern.neighbours`
#
# The paper's Table 4 compares nearest with random neighbours at equal $\delta$: nearest accept more. Over
# thousands of tokens that is so at the table's $\delta$ and share of the vocabulary (`lantern.neighbours.empirical`),
# and not at every $k$ and $\delta$ (`.settings`). For every pair of rows it is not
# (`lantern.neighbours.always`, **refuted**): the mass decides. Three tokens on a line, $p = (\frac12, 0, \frac12)$,
# $q = (1, 0, 0)$, $\delta = 1$: with its nearest token, which has no mass, draft 0 is accepted with $\frac12$; with the
# farthest it is accepted surely.
#
# A better reason to take near tokens is that they look alike, so that the mass they lend is lent at little cost.
# TV cannot see this. Wasserstein-1 over the codebook can: mass times the distance it moves. But the rule does not
# take from the neighbours what it gives to $x$ (part 1), and so nearest neighbours may distort more
# (`lantern.neighbours.distance`, **refuted**). $p = (\frac23, \frac13, 0)$, $q = (0, 0, 1)$,
# $\delta = \frac12$, one neighbour each. Token 2 with its nearest token 1 is accepted with $\frac13$. A rejected
# draft becomes 0, so the law is $(\frac23, 0, \frac13)$, at distance $\frac13$. With token 0 as its neighbour, whose
# $\frac23$ exceeds $\delta$, nothing joins: the law is $p$.

# %%
p, q = row("1/2 0 1/2"), row("1 0 0")
assert acceptance(lantern([[1], [], []], 1), p, q) == F(1, 2)
assert acceptance(lantern([[2], [], []], 1), p, q) == 1

p, q = row("2/3 1/3 0"), row("0 0 1")
steps = [[abs(x - y) for y in range(3)] for x in range(3)]
near, far = (step_law(lantern([[], [], [other]], F(1, 2)), p, q) for other in (1, 0))
assert tuple(near) == row("2/3 0 1/3")
assert tuple(far) == p
assert abs(wasserstein1(near, p, steps) - 1 / 3) < 1e-12

# %% [markdown]
# **A family of rows over a codebook.** 60 pairs over 64 random vectors in three dimensions. Logits rise with the inner
# product of a token's vector and a content vector, plus noise of the token's own; the draft sees the content with an
# error. So near tokens are likely together, and which of them is likely is a matter of chance. In the mean
# $\alpha = 0.585$, and $p$ and $q$ are 0.662 apart in Wasserstein-1.
#
# * *Acceptance.* With 4 neighbours nearest are ahead of random ones at every $\delta$ tried. With 16 of 64 they are
#   hardly apart, 0.245 and 0.238 gained at $\delta = 0.1$; L2 and cosine are close throughout.
# * *TV.* All are on the frontier: the theorem again.
# * *Distance.* The least Wasserstein-1 at which a rule with one candidate can accept a given share is that of a
#   partial transport of this share from $p$ to $q$ (`theory.acceptance.nearest_frontier`): what is accepted is part of
#   $q$, something of $p$ has to go there, and the rest may stay. LANTERN is far above it, with nearest neighbours as
#   with random ones. At a gain of 0.2446 nearest cost 0.403; *amplify*, $\min(1, k\,p/q)$, which knows no codebook,
#   costs 0.361 for the same gain, and the least possible is near 0.3.

# %%
family = codebook_pairs(0, 60)
metric, base = codebook_distances(family.codebook), alpha(family.p, family.q)
assert round(base.mean(), 3) == 0.585
assert round(wasserstein1(family.p, family.q, metric).mean(), 3) == 0.662


def measured(rule):
    """Means over the family: acceptance gained, TV, Wasserstein-1, and the least of it for the same acceptance."""
    law = step_law(rule, family.p, family.q)
    accepted = np.minimum(acceptance(rule, family.p, family.q), 1)
    least = [nearest_frontier(*rows, metric) for rows in zip(family.p, family.q, accepted, strict=True)]
    return (
        (accepted - base).mean(),
        tv(law, family.p).mean(),
        wasserstein1(law, family.p, metric).mean(),
        np.mean(least),
    )


deltas = (0.02, 0.05, 0.1, 0.2, 0.4)
tried = {
    (f"{name}, k = {k}", delta): measured(lantern(codebook_neighbours(family.codebook, k, name), delta))
    for name in ("l2", "cosine", "random")
    for k in (4, 16)
    for delta in deltas
}
tried |= {("amplify", k): measured(make_rule("amplify", k=k)) for k in (1, 1.2, 1.5, 2, 3, 4, 8, 20)}
means = pd.DataFrame(tried, index=["gained", "TV", "W1", "least W1"]).T
means.index.names = ["rule", "parameter"]

assert np.allclose(means.gained, means["TV"])
for delta in deltas:
    assert means.gained["l2, k = 4", delta] > means.gained["random, k = 4", delta]
    for k in (4, 16):
        assert abs(means.gained[f"l2, k = {k}", delta] - means.gained[f"cosine, k = {k}", delta]) < 0.015
assert [round(means.gained[f"{name}, k = 16", 0.1], 3) for name in ("l2", "random")] == [0.245, 0.238]

naive = means.loc["amplify"]
assert round(means.gained["l2, k = 16", 0.1], 4) == 0.2446
assert round(means.W1["l2, k = 16", 0.1], 3) == 0.403
assert round(float(np.interp(0.2446, naive.gained, naive.W1)), 3) == 0.361
assert round(means["least W1"]["l2, k = 16", 0.1], 1) == 0.3
for name in ("l2, k = 16", "random, k = 16"):
    part = means.loc[name]
    assert (np.interp(part.gained, naive.gained, naive.W1) < part.W1).all()

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.3))
for k, name in enumerate(("l2", "cosine", "random")):
    for count, style in ((4, "--"), (16, "-")):
        left.plot(
            deltas, means.gained[f"{name}, k = {count}"], f"o{style}", color=f"C{k}", label=f"{name}, k = {count}"
        )
for k, name in enumerate(("l2, k = 16", "cosine, k = 16", "random, k = 16", "amplify")):
    part = means.loc[name]
    right.plot(part.gained, part.W1, "o-", color=f"C{k}", label=name)
    right.plot(part.gained, part["least W1"], ":", color=f"C{k}")
left.set(title="Acceptance gained, mean of 60 pairs", xlabel=r"$\delta$", ylabel=r"acceptance $- \alpha$")
right.set(
    title="Distance; dotted: the least for that acceptance", xlabel=r"acceptance $- \alpha$", ylabel="Wasserstein-1"
)
left.legend(fontsize=9)
right.legend()
figure.tight_layout()

# %% [markdown]
# So on this family what the codebook decides is how much joins, not how far mass moves. That is one synthetic family
# and one measure; how images look is another question.

# %% [markdown]
# ## 8. The multiplicative bound · `lantern-reference.multiplicative`, `lantern.support`
#
# LANTERN++ lets neighbours join while they add at most $(\lambda - 1)\,p(x)$ to $p(x)$. What was impossible with
# $\delta$ is then a theorem.

# %%
find("lantern-reference.multiplicative")

# %% [markdown]
# The bound is reached: $p = (\frac12, \frac12)$, $q = (1, 0)$, $\lambda = 2$; the neighbour's $\frac12$ may join, and
# the law is $(1, 0)$, at TV $\frac12$.
#
# *Tokens of target probability 0* never come out either. With $\delta$ they do (`lantern.support`, **holds**), and
# with top-$k$ sampling most of a large vocabulary is such tokens. $p = (\frac12, \frac12, 0)$, $q = (0, 0, 1)$,
# $\delta = \frac35$: token 0 is the neighbour of 2 and joins. Token 2 is accepted with $\frac12$; after a rejection the
# residual $[p_A - q]_+$ is a point mass on 1. The law is $(0, \frac12, \frac12)$: the excluded token in place of its
# neighbour.

# %%
factors = (1, F(5, 4), F(3, 2), 2, 3, 5)
points = []
for factor, (p, q, lists, _) in product(factors, cases):
    law = step_law(make_rule("lantern-multiplicative", neighbours=lists, factor=factor), p, q)
    assert all(mass <= factor * wanted for mass, wanted in zip(law, p, strict=True))
    assert tv(law, p) <= 1 - 1 / F(factor)
    points.append((float(factor), float(tv(law, p))))
additive = [tv(step_law(lantern(lists, 1), p, q), p) for p, q, lists, _ in cases]
assert max(additive) > F(1, 2)

twice = make_rule("lantern-multiplicative", neighbours=[[1], [0]], factor=2)
assert tuple(step_law(twice, row("1/2 1/2"), row("1 0"))) == row("1 0")

p, q, lists = row("1/2 1/2 0"), row("0 0 1"), [[], [], [0]]
assert lantern(lists, F(3, 5)).accept(p, q, 2) == F(1, 2)
assert tuple(step_law(lantern(lists, F(3, 5)), p, q)) == row("0 1/2 1/2")
assert tuple(step_law(make_rule("lantern-multiplicative", neighbours=lists, factor=100), p, q)) == p

# %%
figure, axis = plt.subplots(figsize=(6, 3.8))
axis.plot(*zip(*points, strict=True), "o", alpha=0.3, markersize=5, label=f"{len(cases)} cases")
grid = np.linspace(1, 5, 100)
axis.plot(grid, 1 - 1 / grid, color="C1", label=r"$1 - 1/\lambda$")
axis.set(title="TV with a factor", xlabel=r"$\lambda$", ylabel="TV to p", ylim=(-0.02, 1))
axis.legend()
figure.tight_layout()

# %% [markdown]
# ## 9. Temperature 0 · `lantern.greedy`
#
# "For greedy decoding, LANTERN can be simply reduced to accept $x$ if $x$ = argmax $p_A(\cdot \mid x)$." It depends on
# which $p$ is meant, and when temperature 0 is applied.
#
# *To $p_A$, formed from the softmax row* (`lantern.greedy.after`, **holds**). The row the draft is compared with is
# then a point mass on $t = $ argmax $p_A(\cdot \mid x)$: $x$ is accepted if and only if $x = t$, and replaced by $t$
# otherwise. Here the relaxation acts, and this is the order of the published code (`lantern.greedy.code`): softmax,
# raise $x$, argmax. What comes out is not what greedy decoding emits: $p = (\frac3{10}, \frac3{10}, \frac4{10})$,
# $\delta = \frac25$, all tokens neighbours of each other. Token 1 joins 0, $P(A) = \frac35$ exceeds every other mass,
# and 0 comes out surely, where greedy decoding says 2.
#
# *The point mass that temperature 0 makes of a row* (`lantern.greedy.one-hot`, **holds**). If $p$ is a point mass on
# $t$, a neighbour $t$ of $x$ would move mass $1 \ge \delta$ and never joins; others have no mass. So $P(A) = p(x)$, $x$
# is accepted if and only if $x = t$, and criterion and rule agree. But so does the lossless rule: nothing is relaxed.

# %%
accepted = 0
for p, _, lists, delta in cases[:40]:
    criterion = make_rule("lantern-greedy", neighbours=lists, delta=delta)
    for x in range(len(p)):
        point = point_mass(x, len(p))
        changed = tempered(lantern(lists, delta).conditional_rows(np.array([p]), np.array([x])), 0)[0]
        assert criterion.accept(p, point, x) == speculative.accept(changed, point, x)
        if criterion.accept(p, point, x) == 0:
            assert tuple(criterion.residual(p, point, x)) == tuple(speculative.residual(changed, point, x))
        accepted += criterion.accept(p, point, x) == 1 and p[x] < max(p)
assert accepted > 0  # drafts that are not the target's likeliest token

for size in (2, 3, 4):
    lists = [[y for y in range(size) if y != x] for x in range(size)]
    for t, x, delta in product(range(size), range(size), (F(1, 10), F(1))):
        p, q = point_mass(t, size), point_mass(x, size)
        criterion = make_rule("lantern-greedy", neighbours=lists, delta=delta)
        for rule in (lantern(lists, delta), speculative):
            assert criterion.accept(p, q, x) == rule.accept(p, q, x) == int(x == t)
            assert tuple(criterion.residual(p, q, x)) == tuple(rule.residual(p, q, x)) == p

q = row("1 0 0")
criterion = make_rule("lantern-greedy", neighbours=[[1, 2], [0, 2], [0, 1]], delta=F(2, 5))
assert tuple(step_law(criterion, row("3/10 3/10 4/10"), q)) == row("1 0 0")

# %% [markdown]
# ## 10. The published code · `lantern-reference`
#
# **Candidates scored with $q = 1$** (`lantern-reference.dynamic`). The dynamic tree offers the draft model's likeliest
# tokens. Nothing is random about them, so each is a draft from a point mass: accepted with $p(x)$, and otherwise
# replaced by $p$ without $x$. *Without neighbours* that is exact for any number of distinct candidates in turn
# (`.lossless`, **holds**).
#
# *With neighbours* the code sets $p$ to zero on $x$ and the $k + 1$ nearest tokens, where the paper's $[p_A - q]_+$ is
# $p$ outside $A$ (`.residual`, **refuted**). Those that did not join have not been paid for in the accept probability.
# $p = (0, \frac1{10}, \frac4{10}, \frac5{10})$, candidate 0 with neighbours 1 and 2, $\delta = \frac15$: 1 joins, 2
# would make it $\frac12$. Candidate 0 is accepted with $\frac1{10}$. The paper goes on with $(0, 0, \frac49,
# \frac59)$, the code with $(0, 0, 0, 1)$: laws $(\frac1{10}, 0, \frac4{10}, \frac5{10})$ and $(\frac1{10}, 0, 0,
# \frac9{10})$, TV $\frac1{10}$ and $\frac12$ for the same $\frac1{10}$ gained. Where nothing is left the code draws
# from all tokens alike, those of target probability 0 included.


# %%
def in_turn(rule, p, candidates):
    """The law of the token emitted when fixed candidates are verified in turn."""
    if not candidates:
        return np.array(p, dtype=object)
    x, *others = candidates
    point = point_mass(x, len(p))
    keep = rule.accept(p, point, x)[()]
    law = (1 - keep) * in_turn(rule, rule.residual(p, point, x), others)
    law[x] += keep
    return law


astray = 0
for p, *_ in cases[:40]:
    alone = make_rule("lantern-reference", neighbours=[[]] * len(p), delta=F(1, 10))
    paired = make_rule("lantern-reference", neighbours=[[(x + 1) % len(p)] for x in range(len(p))], delta=F(1, 2))
    assert all(tuple(in_turn(alone, p, range(n))) == p for n in range(1, len(p)))
    astray += tuple(in_turn(paired, p, range(len(p)))) != p
assert astray > 0

p, q, lists, delta = row("0 1/10 4/10 5/10"), row("1 0 0 0"), [[1, 2], [], [], []], F(1, 5)
paper, code = lantern(lists, delta), make_rule("lantern-reference", neighbours=lists, delta=delta)
assert paper.accept(p, q, 0) == code.accept(p, q, 0) == F(1, 10)
assert tuple(paper.residual(p, q, 0)) == row("0 0 4/9 5/9")
assert tuple(code.residual(p, q, 0)) == row("0 0 0 1")
assert tuple(step_law(paper, p, q)) == row("1/10 0 4/10 5/10")
assert tuple(step_law(code, p, q)) == row("1/10 0 0 9/10")
assert (tv(step_law(paper, p, q), p), tv(step_law(code, p, q), p)) == (F(1, 10), F(1, 2))
assert acceptance(code, p, q) - alpha(p, q) == F(1, 10)

# %% [markdown]
# **Siblings drawn without replacement** (`lantern-reference.static`). The static tree draws siblings from what is left
# of $q$ and scores each with the row it was drawn from. *Without neighbours* that is exact (`.lossless`, **holds**; see
# the notebook on SJD-PAC).
#
# *With neighbours* (`.residual`, **refuted**) the paper takes the mass of those that joined out of $p$, for it was
# counted for $x$. The code sets them to zero in $q$: $[p - q]_+$ then has all of $p$ on them. $p = (0, \frac12,
# \frac12)$, $q = (1, 0, 0)$, token 1 the neighbour of 0, $\delta = \frac23$: after 0 is rejected the paper draws 2, and
# the code draws 1 with $\frac12$.
#
# *At $\delta = 0$* (`.zero-delta`, **refuted**) a neighbour of mass 0 joins, for the test in the code is $\le$, and the
# $k + 1$ nearest are set to zero in $q$, whatever they have. $p = (\frac12, \frac12, 0, 0)$, $q = (0, \frac12, 0,
# \frac12)$, $k = 1$, one sibling: TV $\frac14$.

# %%
for p, q in ((random_row(Random(k), 4), random_row(Random(k + 99), 4)) for k in range(40)):
    alone = make_rule("lantern-reference", neighbours=[[]] * 4, delta=0, tree="static")
    assert all(tuple(candidates_law(alone, p, q, siblings)[0]) == p for siblings in (1, 2, 3))

p, q, lists, delta = row("0 1/2 1/2"), row("1 0 0"), [[1], [], []], F(2, 3)
static = make_rule("lantern-reference", neighbours=lists, delta=delta, tree="static")
assert lantern(lists, delta).accept(p, q, 0) == static.accept(p, q, 0) == F(1, 2)
assert tuple(lantern(lists, delta).residual(p, q, 0)) == row("0 0 1")
assert tuple(static.residual(p, q, 0)) == row("0 1/2 1/2")

p, q, lists = row("1/2 1/2 0 0"), row("0 1/2 0 1/2"), [[1, 2], [0, 2], [1, 3], [2, 1]]
assert tuple(step_law(lantern(lists, 0), p, q)) == p
static = make_rule("lantern-reference", neighbours=lists, delta=0, k=1, tree="static")
assert tv(step_law(static, p, q), p) == F(1, 4)

# %% [markdown]
# **Which codebook** (`lantern-reference.codebook`, **refuted**): the code lists neighbours by the distance of raw
# vectors, while images are decoded with vectors of unit length. With $(1, 0)$, $(0, 1)$ and $(4, 0)$ the nearest token
# of 0 is 1 raw and 2 normalised. Of 64 Gaussian vectors in eight dimensions the ten nearest raw and normalised have
# 73 % in common.

# %%
vectors = [[1, 0], [0, 1], [4, 0]]
assert codebook_neighbours(vectors, 1)[0] == 1
assert codebook_neighbours(vectors, 1, normalised=True)[0] == 2
gaussian = np.random.default_rng(0).normal(size=(64, 8))
raw, unit = (codebook_neighbours(gaussian, 10, normalised=which) for which in (False, True))
assert round(100 * np.mean([len({*a} & {*b}) / 10 for a, b in zip(raw, unit, strict=True)])) == 73

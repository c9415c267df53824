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
# # SJD-PAC
#
# "SJD-PAC: accelerating speculative Jacobi decoding via proactive drafting and adaptive continuation" changes two
# things in the loop of SJD (see that notebook). *Proactive drafting* (PD) offers several candidates for each of the
# first positions after a rejection. *Adaptive continuation* (AC) does not draw the rest of the window anew after a
# rejection, but goes on verifying it and replaces only what is rejected. This notebook shows, in exact rational
# arithmetic:
#
# 1. what the two do to a window; the trees of drafts, and which reading of them fits the paper's budget;
# 2. why verification accepts a token more often than drawing anew would repeat it;
# 3. K candidates drawn without replacement and verified in turn leave the target's law (Theorem 2), and what seven
#    mistakes do to it;
# 4. continued drafts follow their declared $q$ given what is to their left, so AC is lossless (Theorem 1); where it
#    saves steps, and where it costs some;
# 5. both together are lossless;
# 6. what the paper leaves open, reading by reading: the exact distribution of the number of steps;
# 7. how far verification in turn is from the best any lossless method could do;
# 8. AC with a lossy rule: what has to be declared;
# 9. block verification, as a baseline.
#
# Every number in the text is asserted in the cell below it. Statements and ids are those of `simlab claims`.

# %%
from collections import Counter, defaultdict
from fractions import Fraction as F
from itertools import product
from random import Random

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import display

from experiments.exploring import report_assertions
from simlab.arrays import without
from simlab.decoders import make_decoder
from simlab.decoders.tree import NONE, make_tree
from simlab.mutants import trees
from simlab.processes import TableProcess
from simlab.rules import make_rule
from theory.acceptance import alpha
from theory.candidates import candidate_sets, candidates_law, optimal_acceptance, optimal_transport
from theory.claims import find
from theory.distances import aligned, tv
from theory.exact import block_law, mean, sequence_law, step_law, target_law, transitions
from theory.example_processes import codebook_pairs, random_process, random_row, sticky_process

sns.set_theme(style="whitegrid", palette="colorblind")
pd.set_option("display.max_colwidth", None)
report_assertions()  # change what you like: an assertion that then fails says so, and the cell goes on
speculative = make_rule("speculative")


def row(text):
    """A rational pmf written as text: "1/2 1/3 1/6"."""
    return tuple(map(F, text.split()))


def deviation(decoder, process, rule=speculative):
    """TV between the law of finished sequences and the target's."""
    return tv(*aligned(sequence_law(decoder, process, rule)[0], target_law(process)))


names = [
    "entropy",
    "match-rate",
    "eagle",
    "retention",
    "theorem-1",
    "theorem-2",
    "rejection-mass",
    "combined",
    "locality",
    "ablation",
]
names += [f"readings.{name}" for name in ("budget", "bonus", "kept", "shared", "steps")] + [
    "continuation-speed",
    "relabel",
    "optimal",
]
claims = [f"pac.{name}" for name in names]
claims += [f"baselines.{name}" for name in ("block-verification", "optimal-candidates", "frontier-candidates")]
pd.DataFrame(
    [(c.source.where, c.source.relation, c.statement) for c in map(find, claims)],
    index=pd.Index(claims, name="claim"),
    columns=["where", "relation", "statement"],
)

# %% [markdown]
# ## 1. The mechanisms, and the tree · `pac.readings.budget`
#
# What becomes of a window of six drafts whose third is rejected. SJD draws what is left of the window anew, from the
# rows of this call. AC verifies it instead. PD draws more candidates for the first positions of it. (The rows of this
# call were computed for the old tokens, the rejected one among them. That is why what is left of the window is only a
# draft for the next call.)

# %%
colours = {
    "kept and committed": "C2",
    "rejected and replaced": "C3",
    "drawn anew": "C1",
    "verified on": "C0",
    "new": "0.85",
}
fates = {
    "SJD": [["drawn anew"] * 3, 1],
    "+ AC": [["verified on"] * 3, 1],
    "+ PD": [["drawn anew"] * 3, 3],
    "+ PD + AC": [["verified on"] * 3, 3],
}
figure, axis = plt.subplots(figsize=(9, 3.6))
for k, (rest, candidates) in enumerate(fates.values()):
    for place, fate in enumerate(["kept and committed"] * 2 + ["rejected and replaced"] + rest + ["new"] * 3):
        axis.plot(place + 1, -1.4 * k, "s", markersize=15, color=colours[fate])
        if place in (3, 4):
            siblings = [-1.4 * k + 0.5 + 0.28 * c for c in range(candidates - 1)]
            axis.plot([place + 1] * len(siblings), siblings, "s", markersize=7, color=colours["drawn anew"])
for fate, colour in colours.items():
    axis.plot([], [], "s", markersize=11, color=colour, label=fate)
axis.set(
    title="A window of six; its third draft is rejected (small squares: more candidates)",
    xlabel="position",
    xticks=range(1, 10),
    ylim=(-4.8, 1),
)
axis.set_yticks([-1.4 * k for k in range(4)], fates)
axis.legend(bbox_to_anchor=(1.01, 1), loc="upper left", fontsize=9)
axis.grid(visible=False)
sns.despine(left=True, bottom=True)
figure.tight_layout()

# %% [markdown]
# The window is a *chain* of drafts. PD hangs more candidates beside its first $D$ tokens: "a shallow, wide tree" of $K$
# candidates, of which one path is extended. The paper does not say whether every node has $K$ children or only those
# of the chain:
#
# * *comb*: the $K$ candidates of a position hang on the chain, and only the first has children.
#   $W + (K - 1) D$ nodes for a chain of $W$;
# * *full*: every node of the first $D$ positions has $K$ children. $W + (K + K^2 + \dots + K^D) - D$ nodes.
#
# The paper's $K = 4$, $D = 3$ with 64 verified tokens a call cannot be a full tree (`pac.readings.budget`): its first
# three positions alone have $4 + 16 + 64 = 84$ nodes. A comb fits: with a chain of 55 it has $55 + 3 \cdot 3 = 64$.

# %%
assert make_tree("full", 3, 4, 3).nodes == 4 + 16 + 64 == 84
assert make_tree("comb", 55, 4, 3).nodes == 55 + 9 == 64
for w, k, d in product((3, 5), (2, 3), (1, 2, 3)):
    assert make_tree("comb", w, k, d).nodes == w + (k - 1) * d
    assert make_tree("full", w, k, d).nodes == w + sum(k**j for j in range(1, d + 1)) - d


def draw_tree(axis, shape, window, candidates, depth):
    """The nodes of a tree from left to right, the chain in the first line."""
    made = make_tree(shape, window, candidates, depth)
    level = [sum(node != NONE for node in path) for path in made.paths.values.tolist()]
    height = dict.fromkeys(range(window), 0.0) | {-1: 0.0}
    used = Counter()
    for node in range(window, made.nodes):
        used[level[node]] += 1
        height[node] = -float(used[level[node]])
    for node, path in enumerate(made.paths.values.tolist()):
        parent = path[level[node] - 2] if level[node] > 1 else -1
        x = level[node] - 1, level[node]
        axis.plot(x, (height[parent], height[node]), color="0.7", linewidth=1, zorder=0)
    axis.plot(0, 0, "s", color="0.3", markersize=11)
    for nodes, colour, label in (
        (range(window), "C0", "the chain: the drafts of SJD"),
        (range(window, made.nodes), "C1", "candidates added"),
    ):
        axis.plot([level[n] for n in nodes], [height[n] for n in nodes], "o", color=colour, markersize=10, label=label)
    axis.set(title=f"{shape}: {made.nodes} nodes", xlabel="position", xticks=range(window + 1), yticks=[])
    axis.grid(visible=False)
    sns.despine(ax=axis, left=True)


figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
for axis, shape in zip(axes, ("comb", "full"), strict=True):
    draw_tree(axis, shape, 5, 3, 2)
    axis.set_ylim(-8.6, 0.8)
axes[0].legend(loc="lower right")
figure.suptitle("K = 3 candidates at the first D = 2 positions, a chain of 5; the square is the committed prefix")
figure.tight_layout()

# %% [markdown]
# A call verifies the candidates of a node in turn, from the root; the first that is accepted becomes the next node.
# Behind the tree it goes on along the chain. If it ends at a candidate that is no part of the chain, the token after it
# is drawn from that candidate's own row, which the call has computed too: a *bonus*.

# %% [markdown]
# ## 2. Keeping a token · `pac.retention`
#
# **Holds.** A token was drawn from $p'$, the row of the last call; the row of this call is $p$. Verification accepts it
# with $\sum p' \min(1, p/p') = \sum \min(p', p) = 1 - \mathrm{TV}(p', p)$. SJD draws it anew, and the same token
# comes back with $\sum_x p'(x)\,p(x)$. By Cauchy and Schwarz that is at most $\sqrt{\sum p'^2 \sum p^2} =
# e^{-(H_2(p') + H_2(p))/2}$, $H_2$ being the Rényi entropy of order 2; equality holds if and only if $p' = p$. And
# $\min(a, b) \ge ab$ for probabilities, so verification always accepts at least as often.
#
# **By hand.** $p' = (\frac12, \frac12)$, $p = (\frac14, \frac34)$: accepted with $\frac14 + \frac12 = \frac34$,
# repeated with $\frac18 + \frac38 = \frac12$; the bound is $\sqrt{\frac12 \cdot \frac58} = 0.559$. Over many tokens the
# gap is wide: whatever $p$ is, a uniform $p'$ over $V$ tokens brings a token back with $\frac1V$. Over the 60 pairs of
# rows of the notebook on LANTERN (64 tokens), 0.585 are accepted in the mean and 0.131 repeated.

# %%
random = Random(0)
tried = [(random_row(random, 2 + k % 5), random_row(random, 2 + k % 5)) for k in range(200)]


def again(p, q):
    """The probability that two independent draws agree."""
    return (np.array(p) * np.array(q)).sum(axis=-1)


for old, new in tried:
    accepted = sum(mass * speculative.accept(new, old, x) for x, mass in enumerate(old))
    assert accepted == 1 - tv(old, new) >= again(old, new)
    assert again(old, new) ** 2 <= again(old, old) * again(new, new)
    assert (again(old, new) ** 2 == again(old, old) * again(new, new)) == (old == new)

old, new = row("1/2 1/2"), row("1/4 3/4")
assert (1 - tv(old, new), again(old, new)) == (F(3, 4), F(1, 2))
assert round(float(again(old, old) * again(new, new)) ** 0.5, 3) == 0.559

rows = codebook_pairs(0, 60)
accepted, back = alpha(rows.p, rows.q), again(rows.p, rows.q)
limit = np.sqrt(again(rows.p, rows.p) * again(rows.q, rows.q))
assert (round(accepted.mean(), 3), round(back.mean(), 3)) == (0.585, 0.131)

# %%
figure, axis = plt.subplots(figsize=(6.5, 3.9))
order = np.argsort(accepted)
axis.plot(accepted[order], "o", color="C0", label=r"verified: $1 - \mathrm{TV}$")
axis.plot(limit[order], "_", color="0.4", label=r"$\exp(-(H_2(p') + H_2(p))/2)$")
axis.plot(back[order], "o", color="C1", label=r"drawn anew: $\sum p' p$")
axis.set(title="How often a token stays the same", xlabel="pair of rows", ylabel="probability", ylim=(0, 1))
axis.legend()
figure.tight_layout()

# %% [markdown]
# ## 3. K candidates · `pac.theorem-2`, `pac.rejection-mass`
#
# Candidate $c_1$ follows $q$, $c_2$ follows $q$ without $c_1$, and so on: $K$ draws without replacement. They are
# verified in turn,
#
# $$p^{(1)} = p, \quad q^{(1)} = q, \qquad p^{(k+1)} = [p^{(k)} - q^{(k)}]_+, \quad
#   q^{(k+1)} = q^{(k)} \text{ without } c_k,$$
#
# each accepted with $\min(1, p^{(k)}/q^{(k)})$; if none is accepted the token is drawn from $p^{(K+1)}$.

# %%
find("pac.theorem-2")

# %% [markdown]
# Two things are needed: $q^{(k)}$ is the row that $c_k$ was drawn from, and nothing depends on candidates that have not
# been verified yet. So they are verified in the order they were drawn in.
#
# *Rejection mass* (equation 9, **holds**): $c_k$ is rejected with $\sum \max(q^{(k)} - p^{(k)}, 0)$, which equals
# $\sum \max(p^{(k)} - q^{(k)}, 0)$, since both rows sum to 1.
#
# **By hand**, $V = 3$, $K = 2$: $p = (\frac12, \frac13, \frac16)$, $q = (\frac14, \frac14, \frac12)$.
#
# * $c_1$ is accepted with mass $(\frac14, \frac14, \frac16)$; it is rejected with mass $\frac13$, and then it is a 2.
# * $p^{(2)} = [p - q]_+ = (\frac34, \frac14, 0)$ and $q^{(2)} = (\frac12, \frac12, 0)$. A $c_2 = 0$ is accepted; $c_2 =
# 1$   is accepted with $\frac14/\frac12 = \frac12$. So $c_2$ is rejected with $\frac14$, which is $\sum \max(p^{(2)} -
#   q^{(2)}, 0)$.
# * $p^{(3)} = (1, 0, 0)$.
# * Token 0: $\frac14 + \frac13 (\frac12 + \frac14) = \frac12$. Token 1: $\frac14 + \frac13 \cdot \frac14 = \frac13$.
#   Token 2: $\frac16$. The law is $p$, and a candidate is accepted with
#   $\frac23 + \frac13 \cdot \frac34 = \frac{11}{12}$.


# %%
def node(p, q, mistake=None):
    """The law of the token that a node with two candidates emits, with one mistake or none."""
    p, q = np.array(p), np.array(q)
    law = p * 0
    for first, second in product(range(len(p)), repeat=2):
        weight = q[first] * (q if mistake == "may repeat the first" else without(q, first))[second]
        if weight == 0:
            continue
        x, y = first, second
        if mistake == "first candidate verified last" or (mistake == "sorted by q" and q[y] > q[x]):
            x, y = y, x
        keep = speculative.accept(p, q, x)
        p2 = p if mistake == "target not updated" else speculative.residual(p, q, x)
        q2 = q if mistake == "scored with unconditional q" else without(q, x)
        again = speculative.accept_rows(p2, q2, np.int64(y))[()]
        if mistake == "one coin for both":
            again = max(again - keep, 0) / (1 - keep) if keep < 1 else 0
        law[x] += weight * keep
        law[y] += weight * (1 - keep) * again
        law += weight * (1 - keep) * (1 - again) * speculative.residual_rows(p2, q2, np.int64(y))
    return law


p, q = row("1/2 1/3 1/6"), row("1/4 1/4 1/2")
p2, q2 = speculative.residual(p, q, 2), without(np.array(q), 2)
assert [q[x] * speculative.accept(p, q, x) for x in range(3)] == list(row("1/4 1/4 1/6"))
assert (tuple(p2), tuple(q2)) == (row("3/4 1/4 0"), row("1/2 1/2 0"))
assert [speculative.accept(p2, q2, x) for x in (0, 1)] == [1, F(1, 2)]
assert (tv(p, q), tv(p2, q2)) == (F(1, 3), F(1, 4))
assert tuple(speculative.residual(p2, q2, 1)) == row("1 0 0")
assert tuple(node(p, q)) == p
assert candidates_law(speculative, p, q, 2)[1] == F(11, 12)

for old, new in tried:
    rejected = sum(m * (1 - speculative.accept(new, old, x)) for x, m in enumerate(old))
    assert rejected == sum(max(a - b, 0) for a, b in zip(new, old, strict=True))
    assert len(old) > 4 or all(tuple(candidates_law(speculative, new, old, k)[0]) == new for k in (1, 2, 3, 5))
assert any(sum(mass > 0 for mass in old) < 5 for old, _ in tried)  # more candidates than tokens

# %% [markdown]
# **Mistakes at a node**, on the same rows. Each breaks the law; by hand, given that $c_1 = 2$ was rejected (mass
# $\frac13$):
#
# * *Scored with the unconditional* $q$: $c_2 = 1$ has $q = \frac14$ in place of $\frac12$ and is surely accepted.
# Tokens 0   and 1 have $\frac14 + \frac13 \cdot \frac12 = \frac5{12}$ each: TV $\frac1{12}$.
# * *Target not updated*: $c_2$ is scored with $p$, so 1 is accepted with $\frac13/\frac12 = \frac23$. It comes out with
#   $\frac14 + \frac13 \cdot \frac12 \cdot \frac23 = \frac{13}{36}$; and $p - q^{(2)}$ is positive at token 2 only, so
#   the last draw is a 2: TV $\frac1{12}$.
# * *May repeat the first*: $c_2 = 2$ with $\frac12$. The row it is scored with has no mass there, and a ratio to 0
#   accepts it: token 2 has $\frac16 + \frac16$, TV $\frac16$.
# * *One coin*: the coin of $c_1$ was above $\frac13$. Below $\frac12$ it is then with $\frac14$, not with $\frac12$:
#   TV $\frac1{24}$.
# * *Sorted by* $q$: whenever 2 is among the two it goes first; it comes out with $\frac56 \cdot \frac13 = \frac5{18}$
#   in place of $\frac3{18}$, TV $\frac19$.

# %%
mistakes = (
    "scored with unconditional q",
    "target not updated",
    "may repeat the first",
    "one coin for both",
    "sorted by q",
    "first candidate verified last",
)
by_hand = dict(zip(mistakes, (F(1, 12), F(1, 12), F(1, 6), F(1, 24), F(1, 9)), strict=False))
for mistake in mistakes:
    law = node(p, q, mistake)
    assert sum(law) == 1
    assert tv(law, p) == by_hand.get(mistake, tv(law, p)) > 0
assert tuple(node(p, q, "scored with unconditional q")) == row("5/12 5/12 1/6")
assert node(p, q, "target not updated")[1] == F(13, 36)
assert node(p, q, "may repeat the first")[2] == F(1, 3)
assert node(p, q, "sorted by q")[2] == F(5, 18)
{mistake: str(tv(node(p, q, mistake), p)) for mistake in mistakes}

# %% [markdown]
# ## 4. Adaptive continuation · `pac.theorem-1`
#
# Behind the first rejection every token of the window is verified as well, by its own coin, with the rows of this call
# (which were computed for the old tokens to its left): it stays or is replaced from the residual. The next call
# declares the row of this one as its $q$.
#
# The paper's proof shows what the rejection lemma says: *if* a draft follows its declared $q$, the result follows $p$.
# The condition is what needs a proof, and it is subtle: a kept token is *known* to anyone who has seen the window
# before.

# %%
find("pac.theorem-1.token")

# %% [markdown]
# The cell computes the law of each draft given the left, and given the whole state before the step. The first is the
# declared $q$, exactly. The second is not. For SJD, which draws anew, both are.


# %%
def draft_error(decoder, process, rule=speculative, given="left"):
    """Largest difference between a declared q and the law of its draft, given the left, or the whole state before."""
    worst = F(0)
    for outcomes in transitions(decoder, process, rule):
        laws = defaultdict(Counter)
        for states, paths in outcomes:
            for tokens, length, rows, path in zip(states.tokens.tolist(), states.length, states.q, paths, strict=True):
                for j, q in enumerate(rows[: process.length - length]):
                    place = length + j
                    known = tuple(map(tuple, rows[:j])) if given == "left" else path.row
                    laws[length, known, tuple(tokens[:place]), tuple(q)][tokens[place]] += path.weight
        for (*_, q), law in laws.items():
            worst = max(worst, *(abs(law[x] / law.total() - mass) for x, mass in enumerate(q)))
    return worst


processes = [random_process(1, 2, 5), random_process(2, 3, 4), random_process(3, 2, 4, (2, 2))]
for window, w in product((2, 3), processes):
    continued = make_decoder("sjd-ac", window=window)
    assert draft_error(continued, w) == 0
    assert draft_error(continued, w, given="state") > 0
    assert draft_error(make_decoder("sjd", window=window), w, given="state") == 0
    assert deviation(continued, w) == deviation(make_decoder("sjd-ac", window=window, bonus=False), w) == 0

for wrong in trees.ac_decoders(3).values():
    assert max(deviation(wrong, w) for w in processes) > 0
    assert max(draft_error(wrong, w) for w in processes) > 0

# %% [markdown]
# **Where it saves steps.** Not at the token that was kept: given the left, a kept draft follows the same $q$ as one
# drawn anew, and is accepted as often. Keeping it helps the tokens *behind* it, whose rows were computed for it. So
#
# * with a window of two nothing changes: at most one old token is left, and what comes behind it is new, and uniform.
#   The steps of AC and of SJD have the same law, exactly;
# * the chance that every call commits a single token is the same for every window.
#
# **By hand**, four tokens of two kinds, window 3, first drafts uniform. The target begins with 0; the second token is
# uniform; the third is a copy of the second; the fourth is uniform again. If the first draft is a 0 (probability
# $\frac12$) the second is kept, and the third is right half of the time: 1 step or 2, with $\frac14$ each. If it is a
# 1, it is replaced by 0, and the third draft becomes a copy of the old second.
#
# * *SJD* draws the second anew. Half of the time it is the old one, the third is right, and the rest follows in the
#   same call: 2 steps. Otherwise 3. Mean $\frac14 + \frac12 + \frac12 + \frac34 = 2$.
# * *AC* keeps the second, and the third is right: 2 steps. Mean $\frac14 + \frac12 + 1 = \frac74$.
#
# **Where it costs steps** (`pac.continuation-speed`, **holds**). Let the third token be a copy of the second after
# a 0, and the opposite of it after a 1. The old first draft was a 1, and the third draft was made the opposite of the
# second. AC keeps the second, and the third is surely wrong: mean $\frac14 + \frac12 + \frac32 = \frac94$. SJD draws
# the second anew, and is right half of the time: 2, as before. So no theorem says that AC takes no more steps than
# SJD. It needs rows that change little when a token to the left does (part 10).


# %%
def four(third):
    """Four tokens of two kinds: 0, a uniform one, one that the first two decide, and a uniform one."""
    half, point = row("1/2 1/2"), (row("1 0"), row("0 1"))
    return TableProcess(2, 4, lambda s: [point[0], half, point[third(*s)] if len(s) == 2 else half, half][len(s)])


copying, comparing = four(lambda a, b: b), four(lambda a, b: a ^ b)
for process, expected in ((copying, F(7, 4)), (comparing, F(9, 4))):
    sjd, ac = (sequence_law(make_decoder(name, window=3), process, speculative)[1] for name in ("sjd", "sjd-ac"))
    assert sjd == {1: F(1, 4), 2: F(1, 2), 3: F(1, 4)}
    assert (mean(sjd), mean(ac)) == (2, expected)

for w, bonus in product((*processes, copying, comparing), (True, False)):
    sjd, ac = (sequence_law(make_decoder(n, window=2, bonus=bonus), w, speculative)[1] for n in ("sjd", "sjd-ac"))
    assert sjd == ac
for w in (random_process(k, 3, 4) for k in range(2, 6)):
    sjd, ac = (sequence_law(make_decoder(name, window=3), w, speculative)[1] for name in ("sjd", "sjd-ac"))
    assert sjd != ac
    assert sjd[4] == ac[4]

# %% [markdown]
# ## 5. Both together · `pac.combined`

# %%
find("pac.combined")

# %% [markdown]
# Enumerated: comb and full trees, with and without bonus, with and without continuation, on two processes with zeros.

# %%
small = [random_process(k, 3, 3, zeros=0.35) for k in range(3)]
for name, shape, bonus, w in product(("sjd-pd", "sjd-pac"), ("comb", "full"), (True, False), small[:2]):
    assert deviation(make_decoder(name, window=2, candidates=2, depth=2, tree=shape, bonus=bonus), w) == 0
assert deviation(make_decoder("sjd-pac", window=2, candidates=4, depth=1), small[1]) == 0  # beyond the support

# %% [markdown]
# The mistakes of part 3 in the decoder, with those of continuation and one of the tree: going on below the *first*
# candidate after another was accepted. Each is off on at least one of three processes; the largest TV is shown. Two are
# off by less than 0.01, and on two of the three processes not at all: the order of candidates matters only where
# declared rows are not uniform, which is from the second call on. A test suite needs processes that reach such places,
# and exact laws.

# %%
variants = trees.tree_decoders(2, 2, 2, "comb") | trees.ac_decoders(3)
assert len(variants) == 10
by_world = {name: [deviation(wrong, w) for w in small] for name, wrong in variants.items()}
off = {name: max(found) for name, found in by_world.items()}
assert min(off.values()) > 0
for name in ("siblings sorted by q", "kept token verified last"):
    assert off[name] < F(1, 100)
    assert by_world[name].count(0) == 2

shown = pd.DataFrame({"variant": off.keys(), "TV": map(float, off.values())}).sort_values("TV")
shown["mistake in"] = ["continuation" if name in trees.ac_decoders(3) else "the tree" for name in shown.variant]
figure, axis = plt.subplots(figsize=(8.5, 3.9))
sns.barplot(shown, x="TV", y="variant", hue="mistake in", dodge=False, ax=axis)
for container in axis.containers:
    axis.bar_label(container, fmt="%.4f", padding=3, fontsize=9)
axis.set(title="Wrong variants: TV of the sequence to the target", ylabel="", xlabel="largest TV over three processes")
axis.margins(x=0.14)
figure.tight_layout()

# %% [markdown]
# ## 6. The readings · `pac.readings`

# %%
find("pac.readings.bonus")

# %% [markdown]
# *The kept token* (`.kept`, both readings are **lossless**): the token that AC left at a position is $c_1$ of its node
# (`first`), or it is dropped and $K$ candidates are drawn afresh. Dropping undoes AC at the first $D$ positions.
# Verified *last*, after its siblings, it is not lossless (part 5): candidates drawn without replacement may not
# change places.
#
# *Shared candidates* (`.shared`, **lossless**): all nodes of one position have the same candidates. Only one of the
# nodes is ever verified.
#
# The chart has the exact distribution of steps for a line of four pixels with three grey levels, window 3, $K = D = 2$:
# a pixel equals its left neighbour with $\frac34$ (at the middle level $\frac23$) and is at most one level away; the
# line begins as after a 0. All laws are the target's. Mean steps: SJD 2.487, with AC 2.446, with PD 2.150, with both
# 2.143. Without bonus the comb has the steps of SJD without bonus, 2.712, to the last digit. Dropping the kept tokens
# leaves nothing of AC here, 2.150. Full trees take 2.090, shared 2.103.

# %%
table = [row("3/4 1/4 0"), row("1/6 2/3 1/6"), row("0 1/4 3/4")]
line = TableProcess(3, 4, lambda s: table[(0, *s)[-1]])
comb = {"window": 3, "candidates": 2, "depth": 2}
full = comb | {"tree": "full"}
decoders = {
    "SJD": make_decoder("sjd", window=3),
    "+ AC": make_decoder("sjd-ac", window=3),
    "+ PD": make_decoder("sjd-pd", **comb),
    "PAC: both, kept first": make_decoder("sjd-pac", **comb),
    "PAC, kept dropped": make_decoder("sjd-pac", **comb, kept="dropped"),
    "PAC, full tree": make_decoder("sjd-pac", **full),
    "PAC, full, shared": make_decoder("sjd-pac", **full, shared=True),
    "SJD, no bonus": make_decoder("sjd", window=3, bonus=False),
    "+ PD, no bonus": make_decoder("sjd-pd", **comb, bonus=False),
    "+ AC, no bonus": make_decoder("sjd-ac", window=3, bonus=False),
    "PAC, no bonus": make_decoder("sjd-pac", **comb, bonus=False),
}
target, steps = target_law(line), {}
for name, decoder in decoders.items():
    law, steps[name] = sequence_law(decoder, line, speculative)
    assert law == target
means = {name: round(float(mean(taken)), 3) for name, taken in steps.items()}
assert [means[n] for n in ("SJD", "+ AC", "+ PD", "PAC: both, kept first")] == [2.487, 2.446, 2.150, 2.143]
assert steps["+ PD, no bonus"] == steps["SJD, no bonus"]
assert steps["PAC, no bonus"] == steps["+ AC, no bonus"]
assert means["SJD, no bonus"] == 2.712
assert steps["PAC, kept dropped"] == steps["+ PD"]
assert (means["PAC, full tree"], means["PAC, full, shared"]) == (2.090, 2.103)

# %%
distribution = pd.DataFrame(steps).T.fillna(0).astype(float).sort_index(axis=1)
figure, axis = plt.subplots(figsize=(9, 4.6))
colours = sns.color_palette("viridis_r", distribution.shape[1])
distribution.plot.barh(stacked=True, color=colours, width=0.8, ax=axis)
for k, name in enumerate(distribution.index):
    axis.text(1.01, k, f"{means[name]:.3f}", va="center")
axis.text(1.01, -1, "mean", va="center")
axis.invert_yaxis()
axis.set(title="Steps for four pixels, exactly (window 3, K = D = 2)", xlabel="probability", xlim=(0, 1))
axis.legend(title="steps", bbox_to_anchor=(1.1, 1), loc="upper left")
axis.grid(visible=False)
figure.tight_layout()

# %% [markdown]
# This is one small process, and window 3 leaves AC little to keep. Which reading predicts what is
# printed is asked at scale (`pac.readings.steps`); that AC must save on every process is not so (part 4).

# %% [markdown]
# ## 7. How good is verification in turn? · `pac.optimal`
#
# Let $S$ be the set of the $K$ candidates. A lossless method that sees $S$ accepts $y \in S$ with mass $f(S, y)$, where
# $\sum_y f(S, y) \le P(S)$ and $\sum_S f(S, y) \le p(y)$; the rest can be drawn from what $p$ lacks. So the most it can
# accept is a maximal flow, and equals the smallest cut (`baselines.optimal-candidates`, **holds**):
#
# $$\min_T \; p(T) + P(S \not\subseteq T).$$
#
# With $K = 1$ this is $1 - \mathrm{TV}$. With more candidates verification in turn falls short of it
# (`pac.optimal`, **holds**), because it decides on $c_1$ before it has seen $c_2$.
#
# **By hand.** $p = (0, \frac12, \frac12)$, $q = (\frac14, \frac14, \frac12)$, $K = 2$.
#
# * *In turn*: $c_1$ is accepted if it is 1 or 2, $\frac34$. A 0 is rejected; $p^{(2)} = (0, 1, 0)$, and $c_2$, which is
# 1   with $\frac13$, is accepted then. Together $\frac34 + \frac14 \cdot \frac13 = \frac56$.
# * *Best*: the sets $\{0, 1\}$, $\{0, 2\}$, $\{1, 2\}$ have $\frac16$, $\frac5{12}$, $\frac5{12}$. Accept 1 from the
#   first, 2 from the second, and from the third 1 with mass $\frac13$ and 2 with $\frac1{12}$: tokens 1 and 2 have
#   $\frac12$ each, as they should, and something is always accepted.
#
# With a lossy method, acceptance is at most this optimum plus the TV spent (`baselines.frontier-candidates`,
# **holds**): its own law takes the place of $p$ in the cut, and $p(T)$ changes by at most the TV.

# %%
p, q = row("0 1/2 1/2"), row("1/4 1/4 1/2")
sets = candidate_sets(q, 2)
assert sets == {frozenset({0, 1}): F(1, 6), frozenset({0, 2}): F(5, 12), frozenset({1, 2}): F(5, 12)}
assert tuple(speculative.residual(p, q, 0)) == row("0 1 0")
assert candidates_law(speculative, p, q, 2)[1] == F(5, 6)
assert optimal_acceptance(p, sets) == 1

random, in_turn, best = Random(4), [], []
pairs = [(random_row(random, 6), random_row(random, 6, least=1)) for _ in range(10)]
lossy = make_rule("optimal-lossy", tv=F(1, 5))
for p, q in pairs:
    choices = [candidate_sets(q, k) for k in (1, 2, 3, 4)]
    in_turn.append([candidates_law(speculative, p, q, k)[1] for k in (1, 2, 3, 4)])
    best.append([optimal_acceptance(p, sets) for sets in choices])
    assert in_turn[-1][0] == best[-1][0] == alpha(p, q)
    assert all(a <= b for a, b in zip(in_turn[-1], best[-1], strict=True))
    assert abs(optimal_transport(p, choices[1])[0] - best[-1][1]) < 1e-9  # the flow, by linear programming
    law, accepted = candidates_law(lossy, p, q, 2)
    assert accepted <= best[-1][1] + tv(law, p)
assert any(a < b for turn, top in zip(in_turn, best, strict=True) for a, b in zip(turn, top, strict=True))

# %%
figure, axis = plt.subplots(figsize=(6.5, 3.9))
for values, name, style in ((best, "the best lossless method", "s--"), (in_turn, "verified in turn", "o-")):
    axis.plot(range(1, 5), np.array(values, dtype=float).mean(axis=0), style, label=name)
axis.set(title="One of K candidates is accepted, mean of 10 pairs (6 tokens)", xlabel="K", ylabel="probability")
axis.set(xticks=range(1, 5), ylim=(0.4, 1.02))
axis.legend()
figure.tight_layout()

# %% [markdown]
# ## 8. With a lossy rule · `pac.relabel`
#
# The paper proposes lossy rules for future work. What stands at a position after a verification then follows the
# *rule's* law for $(p, q)$, not $p$ (**holds**). Declaring $p$ for it is declaring a $q$ that the draft was not drawn
# from; declaring the law keeps the proof of part 4 intact, with the rule's law in place of $p$.
#
# **By hand**, GSD's rule with groups $\{0, 1\}$ and $\{2\}$, where every row is $p = (0, \frac12, \frac12)$ and first
# drafts are uniform, $q = (\frac13, \frac13, \frac13)$. The groups have $\frac12, \frac12$ under $p$ and
# $\frac23, \frac13$ under $q$: 0 and 1 are accepted with $\frac34$, 2 with 1, and the rest, $\frac16$, is 1 or 2. So
# what stands behind a rejected first draft is $(\frac14, \frac13, \frac5{12})$, at TV $\frac14$ from $p$.
#
# The cell measures the largest difference between a declared $q$ and the law of its draft, on this process and on a
# random one of three tokens. With the law declared it is 0. The sequence is off either way, since the rule is lossy.

# %%
grouped = make_rule("grouped", labels=[0, 0, 1])
p, q = row("0 1/2 1/2"), row("1/3 1/3 1/3")
assert tuple(step_law(grouped, p, q)) == row("1/4 1/3 5/12")
assert tv(step_law(grouped, p, q), p) == F(1, 4)

three, constant = random_process(2, 3, 3), TableProcess(3, 3, lambda s: row("0 1/2 1/2"))
declared = {name: make_decoder("sjd-ac", window=2, relabel=name) for name in ("target", "law")}
assert draft_error(declared["target"], three, grouped) > F(1, 10)
assert draft_error(declared["target"], constant, grouped) >= F(1, 4)
assert draft_error(declared["law"], three, grouped) == draft_error(declared["law"], constant, grouped) == 0
assert draft_error(declared["target"], three) == 0
assert all(deviation(decoder, three, grouped) > 0 for decoder in declared.values())

# %% [markdown]
# ## 9. A baseline: block verification · `baselines.block-verification`
#
# With a draft model there is another way to accept more (Sun et al., arXiv 2403.10444): verify a block as a whole. With
# $w_0 = 1$ and $w_i = \min(1, w_{i-1}\,p(x_i)/q(x_i))$, the prefix of $i < \gamma$ drafts is accepted by its own coin
# with $h_i = s_i/(s_i + 1 - w_i)$, $s_i = \sum_y \max(w_i\,p(y) - q(y), 0)$ over the rows after it, the whole block
# with $w_\gamma$. The longest accepted prefix counts, and $[w_i\,p - q]_+$ follows it.

# %%
display(find("baselines.block-verification.lossless"), find("baselines.block-verification.tokens"))

# %% [markdown]
# For two drafts with $p = (\frac13, \frac23)$ and $q = (\frac23, \frac13)$ at every position: drafts 00, 01, 10, 11
# have $\frac49, \frac29, \frac29, \frac19$. Token by token $\frac23 + \frac49 = \frac{10}9$ are accepted in the mean.
# As a block $w_1 = \frac12$ or 1, with mean $\frac23$; and $w_2 = \frac14, 1, \frac12, 1$, with mean $\frac19 + \frac29
# + \frac19 + \frac19 = \frac59$: together $\frac{11}9$. The gain is 01, where a draft that $p$ likes makes up for one
# that it does not.

# %%
iid, draft = (TableProcess(2, 3, lambda prefix, r=r: r) for r in (row("1/3 2/3"), row("2/3 1/3")))


def accepted_drafts(name, target, draft):
    """Mean drafts accepted in the first block of two."""
    law = block_law(make_decoder(name, gamma=2), target, speculative, draft)
    return sum(len(tokens) * mass for tokens, mass in law.items()) - 1


assert (accepted_drafts("speculative", iid, draft), accepted_drafts("block", iid, draft)) == (F(10, 9), F(11, 9))
for k, zeros in product(range(4), (0.0, 0.35)):
    target, draft = random_process(k, 3, 3, zeros=zeros), random_process(k + 50, 3, 3, zeros=zeros)
    assert accepted_drafts("block", target, draft) >= accepted_drafts("speculative", target, draft)
    law, _ = sequence_law(make_decoder("block", gamma=2), target, speculative, draft)
    assert law == target_law(target)

# %% [markdown]
# ## 10. What needs scale
#
# Three statements are about image models; they are judged on a process that imitates one (notebook `at_scale`).
#
# * *Locality* (`pac.locality`): how much a row changes when the token $j$ places before it is masked falls with $j$. It
#   is what AC lives on (part 4), and a property of a model, not of the method. If the token is redrawn, and those
#   between, the TV of a chain that repeats its last token with probability $s$ is
#   $\left|\frac{V s - 1}{V - 1}\right|^j$; with $s = \frac45$ and $V = 2$ that is $0.6^j$. A process that copies the
#   token three back has no TV at $j = 1$ and a large one at $j = 3$.
# * *Ablation* (`pac.ablation`): the order SJD, + PD, + PD + AC at windows of 32 and 64, and the best $K$ and $D$ at a
#   fixed budget. How large the steps are is asked of `pac.readings.steps`.
# * *Matches* (`pac.match-rate`): how often a typical token is drawn again, for the paper below 0.01, and how often it
#   is retained, for the paper above 0.7.

# %%
chain = sticky_process(F(4, 5), 2, 3)
step = np.array([chain.row((token,)) for token in range(2)])
power = step
for j in range(1, 6):
    assert tv(power[0], power[1]) == F(3, 5) ** j
    power = power @ step

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
# # The base rule
#
# **A cheap model guesses the next token, an expensive one checks it. How can what comes out be exactly what the
# expensive one alone would say, and how often does a guess survive?**
#
# A draft $x$ is drawn from $q$ and kept with probability $\min(1, p(x)/q(x))$. Otherwise a token is drawn from the
# *residual* $[p - q]_+ = \max(p - q, 0) / \sum \max(p - q, 0)$ (Leviathan et al., arXiv 2211.17192). Drag the weights
# of both rows: at $k = 1$ the law is the target's, whatever you do. A larger $k$ keeps $\min(1, k\,p/q)$, and pays for
# it.

# %% tags=["hide-input"] jupyter={"source_hidden": true}
from collections import Counter
from random import Random

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

from experiments.exploring import explore, report_assertions, row, typeset
from simlab import mutants
from simlab.decoders import make_decoder
from simlab.processes import TableProcess
from simlab.rules import make_rule
from theory.acceptance import alpha, expected_tokens
from theory.cost_of_rows import affine, speedup_by_rows
from theory.distances import aligned, tv
from theory.exact import acceptance, block_law, sequence_law, step_law, target_law
from theory.example_processes import random_process, random_row
from theory.proofs.base import eq, for_all_masses, le
from theory.symbolic import prove

sns.set_theme(style="whitegrid", palette="colorblind")
report_assertions()  # change what you like: an assertion that then fails says so, and the cell goes on
speculative = make_rule("speculative")


# %% tags=["hide-input"] jupyter={"source_hidden": true}
def drag(p0=5, p1=3, p2=3, p3=1, q0=1, q1=2, q2=3, q3=6, k=1.0):
    """What is drafted and accepted, the residual, and the law beside the target."""
    p, q = (np.array(each) / max(sum(each), 1) for each in ((p0, p1, p2, p3), (q0, q1, q2, q3)))
    rule = make_rule("amplify", k=k)
    kept = np.array([rule.accept(p, q, x) for x in range(4)]) * q
    law = step_law(rule, p, q)
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
    axes[0].bar(range(4), kept, color="0.55", label="accepted")
    axes[0].bar(range(4), q - kept, bottom=kept, color="C1", label="rejected")
    axes[0].set(title=f"draft q: {kept.sum():.3f} accepted", ylabel="probability")
    axes[1].bar(range(4), rule.residual(p, q, 0) if kept.sum() < 1 - 1e-9 else np.zeros(4), color="C2")
    axes[1].set(title="residual: drawn after a rejection")
    axes[2].bar(np.arange(4) - 0.2, p, 0.4, color="C0", label="target p")
    axes[2].bar(np.arange(4) + 0.2, law, 0.4, color="C3", label="law of the rule")
    axes[2].set(title=f"law: TV {tv(law, p):.3f} from the target")
    for axis in axes:
        axis.set(xlabel="token", xticks=range(4), ylim=(0, 1))
    axes[0].legend()
    axes[2].legend()
    return figure


weights = {f"{name}{x}": (0 if x else 1, 10) for name in "pq" for x in range(4)}
explore(drag, **weights, k=(1.0, 4.0, 0.1))

# %% [markdown]
# ## One step by hand · `leviathan.acceptance`
#
# Of a token $q(x) \min(1, p(x)/q(x)) = \min(p(x), q(x))$ is kept: together $1 - \mathrm{TV}(p, q)$, the acceptance
# rate. What is rejected, $\mathrm{TV}$, is dealt out in proportion to $\max(p - q, 0)$, which sums to $\mathrm{TV}$
# too. So a token comes out with $\min(p, q) + \max(p - q, 0) = p$.

# %%
p, q = row("1/2 1/3 1/6"), row("1/4 1/4 1/2")
kept = [mass * speculative.accept(p, q, x) for x, mass in enumerate(q)]
law = step_law(speculative, p, q)
assert kept == list(map(min, p, q))
assert acceptance(speculative, p, q) == sum(kept) == 1 - tv(p, q)
assert tuple(law) == p
columns = {"$p$": p, "$q$": q, r"kept, $\min(p, q)$": kept, "residual": speculative.residual(p, q, 2), "law": law}
typeset(pd.DataFrame(columns, [f"token {x}" for x in range(3)]))

# %% [markdown]
# ## For all rows · `leviathan.lossless`
#
# `prove` runs the code of the rule on masses that are not known, for three tokens at most. The equation above is about
# one token: proven for any two numbers, it holds at every $V$.


# %%
def every_token(masses):
    """The two ways to come out, and the mass that they make."""
    p, q = masses["p"], masses["q"]
    return [(min(p, q) + max(0, p - q), eq, p)]


answers = [prove(speculative), for_all_masses(every_token, ("p", "q"), "min(p, q) + max(p - q, 0) == p")]
assert all(answer.outcome == "proven" for answer in answers)
print(*answers, sep="\n")

# %% [markdown]
# **Break it.** Draw what replaces a draft from $p$ itself. The acceptance rate is still right, for all rows, and the
# law is wrong: acceptance is no evidence that a verifier is lossless.

# %%
careless = mutants.RULES["residual = p"]
rate, law = prove(careless, "accepts == alpha"), prove(careless)
assert (rate.outcome, law.outcome) == ("proven", "counterexample")
print(rate, law, sep="\n")

# %% [markdown]
# ## Blocks, and bugs in them
#
# $\gamma$ drafts in a row are verified from the left until one is rejected. What comes after is drawn from the
# residual or, if all were accepted, from the next row of the target: the *bonus*. Below, mistakes seen in real code,
# each enumerated exactly on three random processes: how far the law of the first $n$ tokens is from the target's.
# Three have the first token right, so a test of first tokens does not see them.

# %%
right = make_decoder("speculative", gamma=2)
variants = {"correct": (right, speculative)} | {name: (right, rule) for name, rule in mutants.RULES.items()}
variants |= {name: (decoder, speculative) for name, decoder in mutants.speculative_decoders(2).items()}
processes = [(random_process(k, 3, 4), random_process(k + 100, 3, 4)) for k in range(3)]


def first(law, n):
    """The law of the first n tokens."""
    shorter = Counter()
    for tokens, mass in law.items():
        shorter[tokens[:n]] += mass
    return shorter


def off(decoder, rule):
    """The largest TV over the processes, for each n."""
    pairs = [(sequence_law(decoder, target, rule, draft)[0], target_law(target)) for target, draft in processes]
    return {n: float(max(tv(*aligned(first(law, n), first(own, n))) for law, own in pairs)) for n in range(1, 5)}


deviation = pd.DataFrame({name: off(*each) for name, each in variants.items()}).T
wrong = deviation.drop("correct")
assert (deviation.loc["correct"] == 0).all()
assert (wrong[4] > 0).all()
assert (wrong[1] == 0).sum() == 3
figure, axis = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
sns.heatmap(deviation, annot=True, fmt=".3f", cmap="cividis", cbar_kws={"label": "TV to the target"}, ax=axis)
axis.set(title="How far each variant is from the target", xlabel="first n tokens")
plt.show()

# %% [markdown]
# ## How many tokens · `leviathan.expected-tokens`
#
# A block has $\frac{1 - \alpha^{\gamma + 1}}{1 - \alpha}$ tokens in the mean if acceptance is i.i.d. (**holds under
# that assumption**). Whole blocks that are easy or hard break it: the first token is 0 or 1 with $\frac12$ each; after
# a 0 draft and target agree, after a 1 they never do. So a block of three has four tokens or two.

# %%
half, one, other = row("1/2 1/2"), row("1 0"), row("0 1")
same = [TableProcess(2, 5, lambda prefix, r=r: r) for r in (row("3/4 1/4"), row("1/4 3/4"))]
split = (
    TableProcess(2, 5, lambda prefix: one if prefix else half),
    TableProcess(2, 5, lambda prefix: half if not prefix else one if prefix[0] == 0 else other),
)
found = {}
for name, (target, draft) in {"i.i.d.": same, "easy or hard": split}.items():
    law = block_law(make_decoder("speculative", gamma=3), target, speculative, draft)
    tokens = sum(len(block) * mass for block, mass in law.items())
    drafts = [(s[:place], mass / 3) for s, mass in target_law(draft, 3).items() for place in range(3)]
    rate = sum(mass * alpha(target.row(prefix), draft.row(prefix)) for prefix, mass in drafts)
    found[name] = {r"mean $\alpha$": rate, "formula": expected_tokens(rate, 3), "tokens of a block": tokens}
assert found["i.i.d."]["formula"] == found["i.i.d."]["tokens of a block"]
assert found["easy or hard"]["formula"] < found["easy or hard"]["tokens of a block"] == 3
typeset(pd.DataFrame(found).T)

# %% [markdown]
# And a block of $\gamma$ drafts asks for $\gamma + 1$ rows. If a row costs `share` of a call, and the rest is the same
# for any number of rows, drafting at $\alpha = 0.8$ pays while rows are nearly free, and never where every row is paid
# for (`leviathan.cost-of-rows`).

# %%
drafts, shares = (1, 3, 7), (0, 0.05, 0.2, 1)
tokens = {g: expected_tokens(0.8, g) for g in drafts}
faster = pd.DataFrame(
    [[speedup_by_rows(tokens[g], g + 1, 1, affine(1 - share, share)) for g in drafts] for share in shares],
    index=[f"share = {share}" for share in shares],
    columns=[rf"$\gamma = {g}$" for g in drafts],
)
assert (faster.loc["share = 1"] < 1).all()
typeset(faster)

# %% [markdown]
# ## The frontier · `leviathan.frontier`
#
# **Holds**, and is not in the paper: whatever a rule does with one draft, it accepts at most $1 - \mathrm{TV}(p, q)$
# plus the TV between its law $r$ and $p$. For what is accepted of a token is at most $q$ and at most $r$, and $\min(q,
# r) \le \min(q, p) + \max(r - p, 0)$, one token at a time. *Amplify* with $k \ge 1$ is on the frontier, whatever the
# rows; groups of tokens are below it at some.


# %%
def any_rule(masses):
    """What any rule can accept of a token, and what it pays."""
    p, q, r = masses["p"], masses["q"], masses["r"]
    return [(min(q, r), le, min(q, p) + max(0, r - p))]


rules = {"amplify, k = 2": make_rule("amplify", k=2), "tokens 0, 1 grouped": make_rule("grouped", labels=[0, 0, 1])}
bound = for_all_masses(any_rule, ("p", "q", "r"), "min(q, r) <= min(q, p) + max(r - p, 0)")
on, below = (prove(rule, "frontier", size=3) for rule in rules.values())
assert (bound.outcome, on.outcome, below.outcome) == ("proven", "proven", "counterexample")
print(bound, on, below, sep="\n")

# %%
random = Random(0)
pairs = [(random_row(random, 3), random_row(random, 3)) for _ in range(150)]
figure, axis = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for (name, rule), marker in zip(rules.items(), "ox", strict=True):
    spent = [tv(step_law(rule, p, q), p) for p, q in pairs]
    gained = [acceptance(rule, p, q) - alpha(p, q) for p, q in pairs]
    assert all(more <= paid for more, paid in zip(gained, spent, strict=True))
    axis.plot(list(map(float, spent)), list(map(float, gained)), marker, alpha=0.6, label=name)
axis.axline((0, 0), slope=1, color="0.4", lw=1, zorder=0, label="the frontier")
axis.set(title="150 pairs of rows", xlabel="TV spent", ylabel="acceptance gained")
axis.legend()
plt.show()

# %% [markdown]
# ## Break it yourself
#
# At $k = 2$ the law is within $\frac12$ of $p$, and not within $\frac25$. What is the least bound for another $k$, or
# for another rule?

# %%
answers = [prove(make_rule("amplify", k=2), f"tv <= {most}", size=2) for most in ("1/2", "2/5")]
assert [answer.outcome for answer in answers] == ["proven", "counterexample"]
print(*answers, sep="\n")

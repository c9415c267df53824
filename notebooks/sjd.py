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
# # Speculative Jacobi decoding
#
# "Accelerating auto-regressive text-to-image generation with training-free speculative Jacobi decoding" (SJD) needs no
# draft model. A window of drafts follows the committed tokens. One call of the target gives the rows $p$ of the whole
# window; drafts are verified from the left by speculative sampling, each against the row $q$ it was *drawn from*; and
# behind the first rejection all drafts are drawn anew from the rows of this call, which thereby become their $q$ in
# the next. This notebook shows, in exact rational arithmetic:
#
# 1. the loop, step by step, and by hand on two tokens;
# 2. Theorem 1: finished sequences have exactly the law of the target, for all windows and initialisations;
# 3. the assumption behind it (equation 6), and what happens when all draws of a call share one uniform;
# 4. what breaks when a draft is declared with a $q$ it was not drawn from;
# 5. the exact distribution of the number of steps, for autoregressive, Jacobi and speculative Jacobi decoding;
# 6. at top-1 all of them give the same sequence;
# 7. the variant of the published code;
# 8. SJD with GSD's grouped rule, as a lossy pair: its law and its steps.
#
# Every number in the text is asserted in the cell below it. Statements and ids are those of `simlab claims`.

# %%
from collections import Counter, defaultdict
from fractions import Fraction as F
from functools import cache
from itertools import product

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from experiments.exploring import report_assertions
from simlab import mutants
from simlab.decoders import make_decoder, run
from simlab.processes import TableProcess
from simlab.randomness import Tape, explore
from simlab.rules import make_rule
from theory.acceptance import alpha
from theory.claims import find
from theory.distances import aligned, tv
from theory.exact import sequence_law, step_law, target_law, transitions
from theory.example_processes import greedy_process, random_process
from theory.search import pairs, smallest_violation

sns.set_theme(style="whitegrid", palette="colorblind")
pd.set_option("display.max_colwidth", None)
report_assertions()  # change what you like: an assertion that then fails says so, and the cell goes on
speculative = make_rule("speculative")
target_of = cache(target_law)
INITIALS = ("random", "repeat-left", "repeat-above", "sample-left", "sample-above")


def sjd(window, **options):
    return make_decoder("sjd", window=window, **options)


def deviation(decoder, process, rule=speculative):
    """TV between the law of finished sequences and the target's."""
    return tv(*aligned(sequence_law(decoder, process, rule)[0], target_of(process)))


def mean(steps):
    return sum(count * mass for count, mass in steps.items())


names = ["theorem-1", "independence", "initialisation", "worst-case", "greedy", "window", "refinement"]
claims = [f"sjd.{name}" for name in [*names, "jacobi-sampling"]]
claims += [f"sjd-reference.{name}" for name in ("lossless", "residual", "greedy")]
pd.DataFrame(
    [(c.source.where, c.statement) for c in map(find, claims)],
    index=pd.Index(claims, name="claim"),
    columns=["where", "statement"],
)

# %% [markdown]
# ## 1. The loop
#
# A small image: two rows of three pixels, two grey levels; a pixel is four times likelier to equal its left neighbour
# than not, and likewise its upper one. One run with a window of three drafts, on a tape of random numbers. `accepted`
# counts drafts; each step commits them and one token more, drawn from the residual after a rejection and from the
# next row (the bonus) if all were accepted.


# %%
def image(levels, shape, contrast=4):
    """Pixels ``contrast`` times less likely for every grey step away from the left and from the upper neighbour."""
    rows, columns = shape

    def weights(seen):
        place = len(seen)
        near = [seen[place - 1]] if place % columns else []
        near += [seen[place - columns]] if place >= columns else []
        return [F(1, contrast ** sum(abs(level - other) for other in near)) for level in range(levels)]

    return TableProcess(levels, rows * columns, lambda s: [w / sum(weights(s)) for w in weights(s)], shape)


def in_floats(process):
    """The same process in floating point, to be sampled instead of enumerated."""
    return TableProcess(process.vocabulary, process.length, lambda s: [float(m) for m in process.row(s)], process.shape)


process, decoder = image(2, (2, 3)), sjd(3)
trace = []


def watch(before, after, info):
    start, stop = int(before.length[0]), int(after.length[0])
    tokens = before.tokens[0].tolist()
    trace.append(
        (tokens[:start], tokens[start : min(start + 3, 6)], int(info.accepted[0]), after.tokens[0, start:stop])
    )


done = run(decoder, in_floats(process), speculative, Tape(seed=4, replicates=1), watch=watch)

assert len(trace) == done.steps[0]
assert [token for *_, committed in trace for token in committed] == done.tokens[0].tolist()
assert all(1 <= len(committed) <= accepted + 1 for *_, accepted, committed in trace)
pd.DataFrame(
    trace, columns=["committed", "drafts", "accepted", "adds"], index=pd.RangeIndex(1, len(trace) + 1, name="step")
)

# %% [markdown]
# The same decoder object is *enumerated*: every coin and every draw is followed with its exact probability. Here the
# result is the law of 64 sequences, equal to the target's, and the distribution of the number of steps, 2 to 4 with
# mean 2.563. The mean of 2000 runs on the tape agrees with it to three standard errors.

# %%
law, steps = sequence_law(decoder, process, speculative)
assert law == target_law(process)
assert len(law) == 64
assert sorted(steps) == [2, 3, 4]
assert round(float(mean(steps)), 3) == 2.563

sampled = run(decoder, in_floats(process), speculative, Tape(seed=0, replicates=2000)).steps
assert abs(sampled.mean() - float(mean(steps))) < 3 * sampled.std() / len(sampled) ** 0.5

# %% [markdown]
# **By hand.** Two tokens of two kinds, window 2, uniform first drafts. The first token is 0 with $\frac13$; the second
# is 0 with $\frac14$ after a 0, and with $\frac34$ after a 1.
#
# *First call*, uniform $q$.
#
# * Draft 0 in first place (probability $\frac12$) is accepted with $\frac13/\frac12 = \frac23$: mass $\frac13$. The
#   second draft is verified against $(\frac14, \frac34)$ and comes out so: 00 has $\frac13 \cdot \frac14$ and 01 has
#   $\frac13 \cdot \frac34$.
# * Draft 1 (probability $\frac12$) is always accepted. The second token comes out as $(\frac34, \frac14)$.
# * Draft 0 is rejected with mass $\frac16$ and replaced by 1. The second draft is drawn anew, from the row of this
#   call. That row was computed after the *old* draft 0: it is $(\frac14, \frac34)$, and is declared as its $q$.
#
# *Second call*, only for the last $\frac16$. Now $p = (\frac34, \frac14)$ and $q = (\frac14, \frac34)$: draft 0
# (probability $\frac14$) is accepted; draft 1 (probability $\frac34$) is accepted with $\frac13$ and otherwise replaced
# by 0. So the second token is 1 with $\frac14$, as it should be after a 1.
#
# Together 10 has $(\frac12 + \frac16) \cdot \frac34 = \frac12$ and 11 has $\frac16$: the law of the target. One step
# suffices exactly if the first draft is accepted, which has probability $1 - \mathrm{TV} = \frac56$.

# %%
first, after_0, after_1 = (F(1, 3), F(2, 3)), (F(1, 4), F(3, 4)), (F(3, 4), F(1, 4))
two = TableProcess(2, 2, lambda prefix: first if not prefix else (after_0, after_1)[prefix[0]])
law, steps = sequence_law(sjd(2), two, speculative)

assert law == {(0, 0): F(1, 12), (0, 1): F(1, 4), (1, 0): F(1, 2), (1, 1): F(1, 6)} == target_law(two)
assert steps == {1: F(5, 6), 2: F(1, 6)}
assert alpha(first, two.uniform) == F(5, 6)

# %% [markdown]
# ## 2. Theorem 1 · `sjd.theorem-1`

# %%
find("sjd.theorem-1.sequence")

# %% [markdown]
# The proof asks of a *new* draft only that it follows its declared $q$ given the tokens to its left
# (`sjd.initialisation`, **holds under the assumption** that each initialisation declares the $q$ that belongs to it):
#
# | initialisation | token | declared q |
# |---|---|---|
# | `random` | uniform | the uniform row |
# | `repeat-left`, `repeat-above` | copy of the neighbour | a point mass on it |
# | `sample-left`, `sample-above` | drawn from the neighbour's row | that row |
#
# The cell enumerates three processes with zeros in their tables (one row; a $2 \times 3$ and a $2 \times 2$ grid),
# windows 1, 2 and 3, five initialisations, with and without bonus: 90 pairs of process and decoder, all exactly the
# target.

# %%
processes = [random_process(1, 2, 5), random_process(2, 2, 6, (2, 3)), random_process(3, 3, 4, (2, 2))]
assert any(mass == 0 for w in processes for mass in w.row(()))
tried = [
    (sjd(window, initial=initial, bonus=bonus), w)
    for w in processes
    for window in (1, 2, 3)
    for initial in INITIALS
    for bonus in (True, False)
]
assert len(tried) == 90
assert all(deviation(decoder, w) == 0 for decoder, w in tried)

# %% [markdown]
# ## 3. Equation 6 · `sjd.independence`
#
# The paper assumes $p(\mathcal J_j \mid x, \mathcal J_{j-1}) = p(\mathcal J_j \mid \mathcal J_{j-1})$: given the last
# call, a draft is independent of the tokens that will stand to its left. It **holds under the assumption** that each
# token of a call is drawn with its own uniform, from rows that are already known, for all drafts that are not copied.
#
# What the proof needs is $\Pr(x_i = x \mid J, \mathcal F) = q(x)$, and this can be computed: at the start and after
# every step, in every state, the law of each draft given the state before the step and everything now to its left,
# compared with the declared $q$. The difference is 0 for every initialisation. (For `repeat-left` and `repeat-above`
# equation 6 itself fails, since a copy depends on its neighbour; but the declared point mass says so.)


# %%
def draft_error(decoder, process, rule=speculative):
    """Largest difference between a declared q and the law of its draft given all that stands to its left."""
    worst = F(0)
    start = explore(lambda rows, randomness: decoder.init(process, randomness, len(rows)), [F(1)])
    for outcomes in (start, *transitions(decoder, process, rule)):
        laws = defaultdict(Counter)
        for states, paths in outcomes:
            for tokens, length, rows, path in zip(states.tokens.tolist(), states.length, states.q, paths, strict=True):
                for place, q in zip(range(length, process.length), rows, strict=False):
                    laws[path.row, place, tuple(tokens[:place]), tuple(q)][tokens[place]] += path.weight
        for (*_, q), law in laws.items():
            worst = max(worst, *(abs(law[x] / law.total() - mass) for x, mass in enumerate(q)))
    return worst


assert all(draft_error(sjd(3, initial=initial), w) == 0 for initial in INITIALS for w in processes)

one_uniform = mutants.WithRandomness(sjd(3), mutants.OneUniform)
assert all(draft_error(one_uniform, w) > 0 for w in processes)

# %% [markdown]
# **One uniform for all draws of a call** breaks the equation, and the output law with it. On the two-token process by
# hand: both first drafts are uniform, so with one uniform they are equal.
#
# * Draft 00 is accepted in first place with mass $\frac13$. Its second 0 has $p = \frac14$ against $q = \frac12$ and is
#   accepted with $\frac12$: 00 gets $\frac16$, where the target has $\frac1{12}$.
# * Draft 11 is accepted in first place with mass $\frac12$. Its second 1 is accepted with $\frac14/\frac12$: 11 gets
#   $\frac14$.
# * After a rejection (mass $\frac16$) the first token is replaced by 1, surely, and the second is drawn properly: 11
#   gets another $\frac16 \cdot \frac14 = \frac1{24}$. In all $\frac7{24}$, where the target has $\frac16$.
#
# TV is $\frac1{12} + \frac18 = \frac5{24}$. Each first draft on its own is uniform, as declared; only their joint law
# is wrong. The first token comes out right as well. A smaller example, found by search over pairs of rows, has the same
# effect.

# %%
one_uniform = mutants.WithRandomness(sjd(2), mutants.OneUniform)
start = explore(lambda rows, randomness: one_uniform.init(two, randomness, len(rows)), [F(1)])
drafts = [
    (tokens[:2], path.weight) for s, paths in start for tokens, path in zip(s.tokens.tolist(), paths, strict=True)
]
assert drafts == [([0, 0], F(1, 2)), ([1, 1], F(1, 2))]

law, _ = sequence_law(one_uniform, two, speculative)
assert law == {(0, 0): F(1, 6), (0, 1): F(1, 6), (1, 0): F(3, 8), (1, 1): F(7, 24)}
assert deviation(one_uniform, two) == F(5, 24)
assert law[0, 0] + law[0, 1] == first[0]


def mirrored(start, then):
    """Two tokens; the second follows ``then`` after a 0 and its mirror image after a 1."""
    return TableProcess(2, 2, lambda prefix: start if not prefix else then if prefix[0] == 0 else then[::-1])


small = {"seed": 0, "levels": [(2, 1), (2, 4)]}
smallest = smallest_violation(pairs, lambda e: deviation(one_uniform, mirrored(*e)) > 0, **small)
assert smallest is not None
[[str(mass) for mass in part] for part in smallest]

# %% [markdown]
# ## 4. Drafts that do not follow their declared q
#
# The commonest way to lose losslessness is to declare the wrong $q$. On the two-token process only the last $\frac16$
# (first draft rejected) has a second call; there the drafts must come out as 1 with $\frac14$.
#
# * *Tail kept, q relabelled.* The second draft stays as it was, uniform, but is declared with the new row
#   $(\frac14, \frac34)$. A draft 1 is accepted with $\frac13$: it comes out as 1 with $\frac12 \cdot \frac13 =
#   \frac16$. TV $\frac16 (\frac14 - \frac16) = \frac1{72}$.
# * *Tail drawn anew, q stale.* The draft follows $(\frac14, \frac34)$, but is declared uniform: 1 is accepted with
#   $\frac12$ and comes out with $\frac34 \cdot \frac12 = \frac38$. TV $\frac16 (\frac38 - \frac14) = \frac1{48}$.
# * *Greedy drafts* (`sjd-reference.greedy`). The draft is the likeliest token, 1, but is declared
#   $(\frac14, \frac34)$: it is accepted with $\frac13$. TV $\frac16 (\frac13 - \frac14) = \frac1{72}$.
# * *A repeated neighbour declared uniform.* The first call starts from 00 or 11, as with one uniform for all draws:
#   TV $\frac5{24}$.

# %%
by_hand = {
    "tail kept, q relabelled": (mutants.TailRelabelled(2), F(1, 72)),
    "tail drawn anew, q stale": (mutants.TailStale(2), F(1, 48)),
    "greedy drafts, softmax q": (mutants.GreedyDrafts(2), F(1, 72)),
    "repeated neighbour, uniform q": (mutants.NeighbourScoredUniform(2, "repeat-left"), F(5, 24)),
}
for wrong, expected in by_hand.values():
    assert deviation(wrong, two) == expected
    assert draft_error(wrong, two) > 0

# %% [markdown]
# All wrong variants of the decoder, on the three processes of part 2, with window 2 and, in the last rows, a wrong
# rule. Each is off on at least one process; the largest TV is shown. Only the variants with a misdeclared $q$ or one
# uniform for all draws show in `draft_error`: the others have honest drafts and a wrong verification. A test suite
# needs both checks.

# %%
variants = {"correct": (sjd(2), speculative)}
variants |= {name: (wrong, speculative) for name, wrong in mutants.sjd_decoders(2).items()}
variants["greedy drafts, softmax q"] = mutants.GreedyDrafts(2), speculative
variants |= {
    f"{initial}, uniform q": (mutants.NeighbourScoredUniform(2, initial), speculative) for initial in INITIALS[1:]
}
variants |= {name: (sjd(2), rule) for name, rule in mutants.RULES.items()}

off = {name: max(deviation(wrong, w, rule) for w in processes) for name, (wrong, rule) in variants.items()}
dishonest = {n for n, (wrong, rule) in variants.items() if max(draft_error(wrong, w, rule) for w in processes) > 0}
assert off.pop("correct") == 0
assert min(off.values()) > 0
assert dishonest == {
    "one uniform for all draws",
    "tail kept, q relabelled",
    "tail drawn again, q stale",
    "greedy drafts, softmax q",
    *(f"{initial}, uniform q" for initial in INITIALS[1:]),
}

# %%
shown = pd.DataFrame({"variant": off.keys(), "TV": map(float, off.values())}).sort_values("TV")
shown["drafts"] = ["not as declared" if name in dishonest else "as declared" for name in shown.variant]
figure, axis = plt.subplots(figsize=(8, 5))
sns.barplot(shown, x="TV", y="variant", hue="drafts", dodge=False, ax=axis)
axis.bar_label(axis.containers[0], fmt="%.3f", padding=3, fontsize=9)
axis.bar_label(axis.containers[1], fmt="%.3f", padding=3, fontsize=9)
axis.set(title="Wrong variants: TV of the sequence to the target", ylabel="", xlabel="largest TV over three processes")
axis.margins(x=0.12)
figure.tight_layout()

# %% [markdown]
# ## 5. How many steps?

# %%
find("sjd.worst-case")

# %% [markdown]
# The exact distribution of the number of calls of the target for the six pixels of part 1. *Jacobi* decoding
# iterates the same window without a probabilistic test: a token is final when all before it are final and it did not
# change. With *fresh* noise every iteration draws anew; with *fixed* noise a position keeps one uniform and applies it
# to its current row. Both are lossless.
#
# Mean steps, window 3: autoregressive 6; Jacobi 3.75 with fresh and 3.45 with fixed noise; SJD 2.79 without and 2.56
# with the bonus token; with initialisation from the left neighbour 2.39 (repeat) and 2.54 (sample), from above 2.44 and
# 2.53. Windows 1 to 4 take 3.54, 2.79, 2.56 and 2.35.

# %%
decoders = {
    "autoregressive": make_decoder("autoregressive"),
    "Jacobi, fresh noise": make_decoder("jacobi", window=3),
    "Jacobi, fixed noise": make_decoder("jacobi", window=3, noise="fixed"),
    "SJD, no bonus": sjd(3, bonus=False),
    **{f"SJD, window {window}": sjd(window) for window in (1, 2, 3, 4)},
    **{f"SJD, {initial}": sjd(3, initial=initial) for initial in INITIALS[1:]},
    "SJD, no refinement": make_decoder("sjd-unrefined", window=3),
    "SJD, reference code": make_decoder("sjd-reference", window=4),
}
target, table = target_law(process), {}
for name, decoder in decoders.items():
    law, table[name] = sequence_law(decoder, process, speculative)
    assert law == target
    assert max(table[name]) <= process.length

means = {name: round(float(mean(steps)), 2) for name, steps in table.items()}
assert table["autoregressive"] == {6: 1}
assert means["Jacobi, fresh noise"] == 3.75
assert means["Jacobi, fixed noise"] == 3.45
assert means["SJD, no bonus"] == 2.79
assert [means[f"SJD, window {window}"] for window in (1, 2, 3, 4)] == [3.54, 2.79, 2.56, 2.35]
assert [means[f"SJD, {initial}"] for initial in INITIALS[1:]] == [2.39, 2.44, 2.54, 2.53]

# %%
distribution = pd.DataFrame(table).T.fillna(0).astype(float).sort_index(axis=1)
figure, axis = plt.subplots(figsize=(9, 5))
colours = sns.color_palette("viridis_r", distribution.shape[1])
distribution.plot.barh(stacked=True, color=colours, width=0.8, ax=axis)
for k, name in enumerate(distribution.index):
    axis.text(1.01, k, f"{means[name]:.2f}", va="center")
axis.text(1.01, -1, "mean", va="center")
axis.invert_yaxis()
axis.set(title="Steps for six pixels, exactly (window 3 unless stated)", xlabel="probability", xlim=(0, 1))
axis.legend(title="steps", bbox_to_anchor=(1.1, 1), loc="upper left")
axis.grid(visible=False)
figure.tight_layout()

# %% [markdown]
# **What needs scale.** Three statements are about large vocabularies and long sequences (`at_scale` has them): that
# speed is almost at its maximum with a window of 16 (`sjd.window`), that there is almost no acceleration without
# refinement (`sjd.refinement`), and that Jacobi decoding does not accelerate sampling (`sjd.jacobi-sampling`). With
# two grey levels a random draft is right half of the time, which favours every method that relies on luck: without
# refinement the mean is even lower here, 2.54 against 2.56. With three levels in place of two the order is reversed,
# 2.86 against 2.81.

# %%
assert means["SJD, no refinement"] == 2.54 < means["SJD, window 3"] == 2.56
three = image(3, (2, 3))
both = [mean(sequence_law(d, three, speculative)[1]) for d in (make_decoder("sjd-unrefined", window=3), sjd(3))]
assert [round(float(steps), 2) for steps in both] == [2.86, 2.81]

# %% [markdown]
# ## 6. Top-1 · `sjd.greedy`

# %%
find("sjd.greedy")

# %% [markdown]
# Checked on all 128 top-1 processes with two tokens and length 3, with a window of 2. Away from top-1 the same
# comparison does tell the two apart.

# %%
prefixes = [prefix for n in range(3) for prefix in product(range(2), repeat=n)]
choices = [dict(zip(prefixes, values, strict=True)) for values in product(range(2), repeat=len(prefixes))]
assert len(choices) == 128
for choice in choices:
    argmax = greedy_process(choice, 2, 3)
    jacobi = sequence_law(make_decoder("jacobi", window=2), argmax, speculative)
    assert jacobi[0] == target_law(argmax)
    assert sequence_law(make_decoder("jacobi", window=2, noise="fixed"), argmax, speculative) == jacobi
    assert sequence_law(sjd(2, bonus=False), argmax, speculative) == jacobi
    assert sequence_law(sjd(2), argmax, speculative)[0] == jacobi[0]

soft = [sequence_law(d, two, speculative)[1] for d in (sjd(2, bonus=False), make_decoder("jacobi", window=2))]
assert soft[0] != soft[1]

# %% [markdown]
# ## 7. The published code · `sjd-reference`
#
# The reference code differs from the paper: its window of $W$ holds the last committed token and $W - 1$ drafts; a
# bonus token follows a window that is accepted whole; a new draft is uniform but scored as a *point mass*.
#
# *Lossless* (`sjd-reference.lossless`, **holds**): once a token is known, a point mass describes it as well as the
# uniform row did before; the proof of Theorem 1 goes through for either. But it costs speed. A new draft is accepted
# with $p(x)$ instead of $\min(1, V p(x))$: on average $\frac1V$ instead of $1 - \mathrm{TV}(p, \text{uniform})$. On the
# two-token process one step suffices with probability $\frac12$ instead of $\frac56$; on the six pixels the mean is
# 3.29 steps instead of 2.56.
#
# *Residual* (`sjd-reference.residual`, **holds** at temperature 1 without top-p and ties): the code passes the residual
# through the logits processors once more. The residual has no mass outside the support of $p$, so top-$k$ finds nothing
# more to remove. Another temperature does harm: at temperature $\frac12$, which squares and renormalises, $p = (0,
# \frac13, \frac23)$ and $q = (1, 0, 0)$ have the residual $p$, and squaring it once more gives $(0, \frac15, \frac45)$,
# at TV $\frac2{15}$.

# %%
reference = make_decoder("sjd-reference", window=3)
assert all(deviation(make_decoder("sjd-reference", window=window), w) == 0 for window in (2, 3) for w in processes)
assert sequence_law(reference, two, speculative)[1] == {1: F(1, 2), 2: F(1, 2)}
assert means["SJD, reference code"] == 3.29


def widened(p, q):
    """Whether the residual has mass where the target, top-k or not, has none."""
    return any(mass > 0 and t == 0 for mass, t in zip(speculative.residual(list(p), list(q), 0), p, strict=True))


assert smallest_violation(pairs, lambda e: widened(*e), seed=0, tries=40) is None
p, q = (F(0), F(1, 3), F(2, 3)), (F(1), F(0), F(0))
tempered = step_law(mutants.ResidualTempered(), p, q)
assert tuple(tempered) == (0, F(1, 5), F(4, 5))
assert tv(tempered, p) == F(2, 15)

# %% [markdown]
# ## 8. SJD with a lossy rule
#
# GSD runs its grouped rule inside SJD's loop. Nothing of the loop changes: drafts still follow their declared $q$,
# whatever the rule, since the rule only decides what is accepted. What changes is the law of what comes out. The first
# token has exactly the one-step law of the rule for $(p, \text{uniform})$. Both are checked on the $2 \times 2$ process
# of part 2.

# %%
labels = (0, 0, 1)
rules = {
    "speculative": speculative,
    "amplify, k = 1.5": make_rule("amplify", k=1.5),
    "addition, ε = 0.05": make_rule("addition", epsilon=0.05),
    "GSD, {0,1} {2}": make_rule("grouped", labels=labels),
    "group residual": make_rule("grouped-group-residual", labels=labels),
    "Algorithm 3, G = 2, clamped": make_rule("dynamic-grouped", size=2, window="clamped"),
    "Algorithm 3, G = 2, centred": make_rule("dynamic-grouped", size=2, window="centred"),
}


def leading(law, n):
    """The law of the first n tokens."""
    shorter = Counter()
    for sequence, mass in law.items():
        shorter[sequence[:n]] += mass
    return shorter


square = processes[2]
for name, rule in rules.items():
    assert draft_error(sjd(2), square, rule) == 0
    one = step_law(rule, square.row(()), square.uniform)
    seen = leading(sequence_law(sjd(2), square, rule)[0], 1)
    assert [seen[x,] for x in range(3)] == list(one)
    assert (tv(one, square.row(())) > 0) == (name != "speculative")

# %% [markdown]
# Six pixels of three levels, window 2. The first pixel is uniform under the target, as new drafts are, so it is exact.
# From there on what is off in the first $n$ tokens never falls with $n$, since they are a function of the first
# $n + 1$.
#
# | rule | mean steps | TV of the sequence |
# |---|---|---|
# | speculative | 3.03 | 0 |
# | amplify, $k = 1.5$ | 2.79 | 0.171 |
# | addition, $\varepsilon = 0.05$ | 2.81 | 0.173 |
# | GSD, levels 0 and 1 in one group | 2.78 | 0.281 |
# | the same with the group residual | 2.78 | 0.309 |
# | Algorithm 3, $G = 2$, clamped | 3.11 | 0.098 |
# | Algorithm 3, $G = 2$, centred | 2.50 | 0.384 |
#
# The windows of Algorithm 3, clamped, take more steps than the lossless rule and distort as well. GSD and amplify take
# about the same steps, and amplify distorts less; that is an example, no theorem: the frontier is about one step.

# %%
target, distortion, steps = target_law(three), {}, {}
for name, rule in rules.items():
    law, taken = sequence_law(sjd(2), three, rule)
    steps[name] = float(mean(taken))
    distortion[name] = [tv(*aligned(leading(law, n), leading(target, n))) for n in range(1, 7)]
    assert distortion[name] == sorted(distortion[name])
    assert max(taken) <= three.length
    assert distortion[name][0] == 0

assert [round(v, 2) for v in steps.values()] == [3.03, 2.79, 2.81, 2.78, 2.78, 3.11, 2.50]
assert [round(float(v[-1]), 3) for v in distortion.values()] == [0, 0.171, 0.173, 0.281, 0.309, 0.098, 0.384]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), width_ratios=[1, 1.1])
for k, (name, marker) in enumerate(zip(rules, "o^vsD*P", strict=True)):
    spent = [float(v) for v in distortion[name]]
    left.plot(range(1, 7), spent, f"{marker}-", color=f"C{k}")
    right.plot(spent[-1], steps[name], marker, markersize=9, color=f"C{k}", label=name)
right.axhline(steps["speculative"], color="0.5", linewidth=1, linestyle="--")
left.set(title="TV of the first n pixels to the target", xlabel="n", ylabel="TV", xticks=range(1, 7))
right.set(title="Six pixels: steps against distortion", xlabel="TV of the sequence", ylabel="mean calls of the target")
right.legend(bbox_to_anchor=(1.02, 1), loc="upper left")
figure.tight_layout()

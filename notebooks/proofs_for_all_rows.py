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
# # Proofs for all rows
#
# **Speculative sampling emits $p$ at every pair of rows that anybody has tried. Does it at every pair there is?**
#
# Rows of three tokens are the points of a triangle. A rule compares $p(x)$ with $q(x)$, and each comparison cuts the
# triangle. In each *cell* the rule is one formula, so that a statement can be proven or refuted there for all rows at
# once. Here $q = (\frac12, \frac13, \frac16)$ stays, and $p$ is anything.
#
# Every number in the text is asserted in the cell below it.

# %% tags=["hide-input"] jupyter={"source_hidden": true}
from fractions import Fraction as F
from io import BytesIO

import numpy as np
import pandas as pd
from IPython.display import Image

from experiments.exploring import report_assertions
from reports.data.triangle import cut
from reports.figures.cells import triangles
from reports.figures.plot_style import use_style
from simlab.decoders import make_decoder
from simlab.rules import Speculative, make_rule
from theory.exact import step_law
from theory.symbolic import prove

use_style()
pd.set_option("display.max_colwidth", None)
report_assertions()  # change what you like: an assertion that then fails says so, and the cell goes on

draft = F(1, 2), F(1, 3), F(1, 6)
speculative, grouped = make_rule("speculative"), make_rule("grouped", labels=[0, 0, 1])
lossless, lossy = cut(speculative, draft), cut(grouped, draft)
figure = triangles([("Speculative sampling", lossless), ("Tokens 0 and 1 in one group", lossy)], draft)
figure.savefig(picture := BytesIO(), format="png")
Image(picture.getvalue())

# %% [markdown]
# ## One call
#
# Now $q$ is anything too: four unknown numbers, and the code of the rule as it is. The answer is no sample. Cells with
# rows that hold zeros, and lines on which $p(x) = q(x)$, are among those that are visited.

# %%
answer = prove(speculative, size=3)
assert answer.outcome == "proven"
print(answer)

# %% [markdown]
# ## The law in each cell
#
# The six cells on the left of the picture. The law is $p$ in all; what is accepted is another formula in each.

# %%
assert len(lossless) == 6
assert all(cell.lossless and cell.law == ("p0", "p1", "p2") for cell in lossless)


def table(cells):
    """Where each cell is, and what the rule does there."""
    rows = [(cell.where, ", ".join(cell.law), cell.acceptance, cell.lossless) for cell in cells]
    return pd.DataFrame(rows, index=list("ABCDEF"[: len(rows)]), columns=["where", "law", "accepts", "lossless"])


table(lossless)

# %% [markdown]
# ## A false statement
#
# With tokens 0 and 1 in one group, either is accepted by the ratio of the group: five cells of six emit another law
# than $p$. In cell A, where $p(0) < \frac12$ and $p(1) < \frac13$, the group's mass is dealt out by $q$: token 0 is
# emitted with $\frac35 (p_0 + p_1)$. At $p = (\frac14, \frac14, \frac12)$ that is $\frac3{10}$.

# %%
assert [cell.lossless for cell in lossy] == [False] * 5 + [True]
first = lossy[0]
assert first.law == ("3/5 p0 + 3/5 p1", "2/5 p0 + 2/5 p1", "p2")
assert first.example.row == (F(1, 4), F(1, 4), F(1, 2))
assert tuple(step_law(grouped, first.example.row, draft)) == first.example.law == (F(3, 10), F(1, 5), F(1, 2))
table(lossy)

# %% [markdown]
# Asked for all $p$ and $q$ the answer is a counterexample, made as simple as it can be. It is computed again in
# fractions, by the rule and without unknown numbers.

# %%
answer = prove(grouped, size=3)
assert answer.outcome == "counterexample"
p, q = (np.array(answer.rows[name], dtype=object) for name in "pq")
assert tuple(step_law(grouped, p, q)) != tuple(p)
print(answer)
print("it emits", ", ".join(map(str, step_law(grouped, p, q))))

# %% [markdown]
# ## A decoder
#
# SJD with a window of two, for sequences of three tokens. All rows of the target are unknown, after every prefix; one
# step is proven from every state that the decoder can be in, and induction over steps does the rest.

# %%
answer = prove(make_decoder("sjd", window=2), size=2, length=3)
assert answer.outcome == "proven"
print(answer)

# %% [markdown]
# ## Break it yourself
#
# Take another rule or another statement: `frontier` says that no rule accepts more at the TV that it spends, and
# `accepts >= speculative` compares two rules. Write a rule of your own: this one replaces a rejected draft from $p$
# instead of the residual.


# %%
class Careless(Speculative):
    """Draws what replaces a draft from p itself."""

    def weights_rows(self, p, q, x):
        return p


careless = Careless()
assert prove(careless, "accepts == alpha", size=3).outcome == "proven"
assert prove(careless, size=3).outcome == "counterexample"
print(prove(careless, size=3))
for statement in ("frontier", "accepts >= speculative", "tv <= 1/10"):
    print(prove(grouped, statement, size=3))

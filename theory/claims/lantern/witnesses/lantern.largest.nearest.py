"""All prefixes of the list are tried, longest first."""

from fractions import Fraction as F


def recompute(examples):
    (entry,) = examples
    p, near = [F(m) for m in entry["exact"]["p"]], entry["neighbours"][0]
    delta = F(entry["exact"]["delta"])
    fits = [j for j in range(len(near), -1, -1) if sum(p[y] for y in near[:j]) < delta]
    return [{"joined": fits[0]}]

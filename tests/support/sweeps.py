"""A small sweep, others that differ from it in a line, and one of many quick cells."""

from __future__ import annotations

GOOD = """
name = "small"
title = "A small sweep"
seeds = [1, 2]
replicates = 5
record = ["lengths", "loglik"]

[[process]]
name = "codebook"
vocabulary = 9
length = 6
clusters = 3

[[decoder]]
name = "sjd"
grid.window = [2, 3]

[[decoder]]
name = "speculative"
gamma = 2

[[rule]]
name = "lantern"
neighbours = { count = 2 }
grid.delta = [0.0, 0.5]
"""

MANY = """
name = "many"
title = "Many quick cells"
seeds = "1..20"
replicates = 12
chunk = 3
record = ["lengths"]
[[process]]
name = "markov"
vocabulary = 32
length = 128
[[decoder]]
name = "sjd"
window = 8
[[rule]]
name = "speculative"
"""

CODEBOOK = 'name = "codebook"\nvocabulary = 9\nlength = 6\nclusters = 3'
COUNTS = "grid.neighbours.count = [2, 3]"
LOCAL = 'name = "local"\nvocabulary = 9\nshape = [2, 2]\nentropy = 2.5'


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)

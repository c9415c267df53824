"""Nodes are counted one by one, as paths from the root."""

from itertools import product


def recompute(examples):
    (entry,) = examples
    k, d, chain = entry["candidates"], entry["depth"], entry["chain"]
    full = {path for level in range(1, d + 1) for path in product(range(k), repeat=level)}
    comb = {(0,) * level for level in range(1, chain + 1)}  # the first candidate everywhere
    comb |= {(0,) * (level - 1) + (other,) for level in range(1, d + 1) for other in range(k)}
    assert len(full) > 64 == len(comb)
    return [{"full": len(full), "comb": len(comb)}]

"""The search of the published code for parents, on trees of which a child is kept and its parent is not."""

import numpy as np


def recompute(examples):
    first, second = examples
    placed = place(first)
    assert any(
        parent >= 0 and first["kept"][k] != parent
        for k, parent in zip(placed, (first["parents"][node] for node in first["kept"]))
    )
    above = place(second)
    assert above == [0, 0]  # the first node stands under itself, the second under it
    path = [1]
    for _ in range(2):  # as many steps up as the mask of the second has nodes
        path.insert(0, above[path[0]])
    return [{"placed": placed}, {"path": [second["kept"][k] for k in path]}]


def place(entry):
    scores, parents, kept = entry["scores"], entry["parents"], entry["kept"]
    assert sorted(scores[k] for k in kept) == sorted(scores)[-len(kept) :]  # no two nodes score more
    wanted = np.array([parents[k] for k in kept])
    placed = np.searchsorted(np.array(kept), wanted)
    placed[wanted == -1] = -1
    return placed.tolist()
